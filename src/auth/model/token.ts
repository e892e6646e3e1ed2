/** Checks the user and the role of a token, and shortens a token for display. */

import { hintFor } from '../../errors/did-you-mean.ts'
import { refuseOption } from '../../errors/invalid-option.ts'
import { days } from '../../lib/values/duration.ts'

/** viewer reads, operator acts, admin does everything. */
export const roles = ['viewer', 'operator', 'admin'] as const
/** The rights of a token: viewer reads, operator acts, admin does everything. */
export type TokenRole = (typeof roles)[number]

/** Lifetime of a login session of the dashboard. */
export const logInLasts = days(7)

export const tokenPrefix = 'rt_'

/** Shortest secret chosen by a person, in characters: a shorter secret can be guessed in time. */
export const shortestSecret = 16

/**
 * Returns enough characters to tell tokens apart, without help for a guess. A secret chosen by a person may be short: fewer
 * characters.
 */
export const shownOf = (secret: string): string => `${secret.slice(0, secret.startsWith(tokenPrefix) ? 7 : 2)}…`

export function checkUser(user: unknown): string {
  if (typeof user === 'string' && /^[^\p{Cc}\p{Cs}]{1,100}$/u.test(user) && user.trim() === user) return user
  return refuseOption(
    'user',
    'it is a name of 1 to 100 characters, such as ana@example.com',
    'é um nome de 1 a 100 caracteres, como ana@example.com',
  )
}

export function checkRole(role: unknown): TokenRole {
  const known = roles.find(each => each === role)
  if (known !== undefined) return known
  const hint = hintFor(String(role), roles)
  return refuseOption(
    'role',
    `there is no role "${String(role)}"; ${hint.en}`,
    `não existe o papel "${String(role)}"; ${hint.pt}`,
  )
}
