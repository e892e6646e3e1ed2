/** Whom a token names and what that one may do; and how much of a token may be shown. */

import { days } from './duration.ts'
import { refuseOption } from './refuse.ts'
import { hintFor } from './suggest.ts'

/** viewer reads, operator acts, admin does all. */
export const roles = ['viewer', 'operator', 'admin'] as const
export type Role = (typeof roles)[number]

/** A log-in of the dashboard. */
export const logInLasts = days(7)

export const tokenPrefix = 'rt_'

/** Characters of a secret that a person chooses: fewer can be guessed in time. */
export const shortestSecret = 16

/** Enough to tell one from another, and no help in guessing the rest. One that a person chose may be short: less of it. */
export const shownOf = (secret: string): string => `${secret.slice(0, secret.startsWith(tokenPrefix) ? 7 : 2)}…`

export function checkUser(user: unknown): string {
  if (typeof user === 'string' && /^[^\p{Cc}\p{Cs}]{1,100}$/u.test(user) && user.trim() === user) return user
  return refuseOption(
    'user',
    'it is a name of 1 to 100 characters, such as ana@example.com',
    'é um nome de 1 a 100 caracteres, como ana@example.com',
  )
}

export function checkRole(role: unknown): Role {
  const known = roles.find(each => each === role)
  if (known !== undefined) return known
  const hint = hintFor(String(role), roles)
  return refuseOption(
    'role',
    `there is no role "${String(role)}"; ${hint.en}`,
    `não existe o papel "${String(role)}"; ${hint.pt}`,
  )
}
