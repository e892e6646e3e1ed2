/**
 * Decides whose rows a request may see. Every statement of this system takes the owner as a parameter, so that no route can forget the
 * owner; a row of another user is 404, as if the row did not exist.
 */
import type { Principal } from 'retoma/http'

/**
 * The user whose rows the request sees; null: the rows of all users, for an admin. On a server without tokens every request has the role
 * admin and names its user itself, so that there each user sees the rows of this user.
 */
export const ownerOf = ({ user, role, via }: Pick<Principal, 'user' | 'role' | 'via'>): string | null =>
  role === 'admin' && via !== 'open' ? null : user
