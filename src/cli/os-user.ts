/** Names the actor of a command: the user of this machine, with the prefix `cli:` to distinguish it from the user of a token. */
import { userInfo } from 'node:os'

export function osUser(): { by?: string } {
  try {
    return { by: `cli:${userInfo().username}`.slice(0, 200) }
  } catch {
    // A container may run as a user id without a name.
    return {}
  }
}
