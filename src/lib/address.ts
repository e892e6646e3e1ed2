/** Addresses as a socket or a proxy names them. */
import { isIP } from 'node:net'

/** A name or an address of this very machine, that others do not reach. */
export const isLoopback = (name: string): boolean =>
  name === '::1' || name.toLowerCase() === 'localhost' || (isIP(name) === 4 && name.startsWith('127.'))

/**
 * IPv4 as it is, also where a socket of IPv6 took it: `::ffff:10.0.0.7` is `10.0.0.7`; without brackets and port, which some
 * proxies add. undefined: it is no address.
 */
export function plainAddress(given: string): string | undefined {
  const [, bracketed] = /^\[(.*)\](?::\d+)?$/.exec(given) ?? []
  const bare = (bracketed ?? given).replace(/^::ffff:(?=\d+\.)/i, '').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  return isIP(bare) === 0 ? undefined : bare
}

/** What one party has of the network: an address of IPv4; of IPv6 the first half, within which everybody has 2^64 to choose from. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('%')[0]!.toLowerCase().split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(8 - left.length - right.length, 0)
  const groups = [...left, ...Array.from({ length: zeros }, () => '0'), ...right]
  return `${groups.slice(0, 4).join(':')}::/64`
}
