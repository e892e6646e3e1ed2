/**
 * Whether a request comes from a page of another site, or was sent to a name that is not ours. A browser says both, and a page
 * cannot make it lie: so a foreign page may neither act with the cookie of who looks at it (CSRF), nor reach an open door under a
 * name of its own that leads to this machine (DNS rebinding).
 */
import { RetomaError } from '../errors.ts'
import { isLoopback } from '../lib/address.ts'
import type { Place, PlaceOptions } from './place.ts'

export const changesSomething = ({ method }: Request): boolean => !['GET', 'HEAD', 'OPTIONS'].includes(method)

/** A program does not say where it comes from; a browser always does when something is to change. */
export function refuseForeignOrigin({ headers }: Request, place: Place, { publicUrl }: PlaceOptions): void {
  const origin = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  if (origin === null && (site === null || site === 'same-origin' || site === 'none')) return
  if (origin !== null && isOwn(origin, place, publicUrl)) return
  throw new RetomaError('foreign_origin', { origin: origin ?? '?' })
}

function isOwn(origin: string, { host, secure }: Place, publicUrl: string | undefined): boolean {
  if (!URL.canParse(origin)) return false
  const given = new URL(origin)
  if (publicUrl !== undefined && given.origin === new URL(publicUrl).origin) return true
  if (secure && given.protocol !== 'https:') return false
  const own = `${given.protocol}//${host}`
  return URL.canParse(own) && new URL(own).host === given.host
}

/** Names that lead to this machine wherever they are looked up, and the one that people are told. */
export function refuseForeignHost({ host }: Place, { publicUrl }: PlaceOptions): void {
  const name = URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, '') : ''
  if (isLoopback(name) || name.endsWith('.localhost')) return
  if (publicUrl !== undefined && name === new URL(publicUrl).hostname) return
  throw new RetomaError('foreign_host', { host: host.slice(0, 200) })
}
