/** Who types, for what is noted of a press: the user of this machine, marked so that nobody takes it for the user of a token. */
import { userInfo } from 'node:os'

export function whoTypes(): { by?: string } {
  try {
    return { by: `cli:${userInfo().username}`.slice(0, 200) }
  } catch {
    // A container may run as a number that has no name.
    return {}
  }
}
