/**
 * Detects requests from a page of another site, and requests to a foreign host name. A browser sends both facts, and a page cannot forge
 * them. So a foreign page can neither act with the cookie of its visitor (CSRF), nor reach an open API under a host name of its own that
 * resolves to this machine (DNS rebinding).
 */
import { RetomaError } from '../../errors/errors.ts'
import { isLoopback } from '../../lib/network-address.ts'
import type { ClientAddress, ClientAddressOptions } from './client-address.ts'

export const changesSomething = ({ method }: Request): boolean => !['GET', 'HEAD', 'OPTIONS'].includes(method)

/** A program sends no origin; a browser always sends the origin with a request that changes something. */
export function refuseForeignOrigin(
  { headers }: Request,
  place: ClientAddress,
  { publicUrl }: ClientAddressOptions,
): void {
  const origin = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  if (origin === null && (site === null || site === 'same-origin' || site === 'none')) return
  if (origin !== null && isOwn(origin, place, publicUrl)) return
  throw new RetomaError('foreign_origin', { origin: origin ?? '?' })
}

function isOwn(origin: string, { host, secure }: ClientAddress, publicUrl: string | undefined): boolean {
  if (!URL.canParse(origin)) return false
  const given = new URL(origin)
  if (publicUrl !== undefined && given.origin === new URL(publicUrl).origin) return true
  if (secure && given.protocol !== 'https:') return false
  const own = `${given.protocol}//${host}`
  return URL.canParse(own) && new URL(own).host === given.host
}

/** Allows host names that resolve to this machine everywhere, and the host of `publicUrl`. */
export function refuseForeignHost({ host }: ClientAddress, { publicUrl }: ClientAddressOptions): void {
  const name = URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, '') : ''
  if (isLoopback(name) || name.endsWith('.localhost')) return
  if (publicUrl !== undefined && name === new URL(publicUrl).hostname) return
  throw new RetomaError('foreign_host', { host: host.slice(0, 200) })
}
