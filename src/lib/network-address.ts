/** Reads network addresses in the forms used by sockets and proxies. */
import { isIP } from 'node:net'

/** A name or an address of this machine, not reachable from other machines. */
export const isLoopback = (name: string): boolean =>
  name === '::1' || name.toLowerCase() === 'localhost' || (isIP(name) === 4 && name.startsWith('127.'))

/**
 * Returns an IPv4 address in plain form, also if an IPv6 socket accepted the connection: `::ffff:10.0.0.7` is `10.0.0.7`. Removes
 * brackets and port, which some proxies add. undefined: the text is no address.
 */
export function plainAddress(given: string): string | undefined {
  const [, bracketed] = /^\[(.*)\](?::\d+)?$/.exec(given) ?? []
  const bare = (bracketed ?? given).replace(/^::ffff:(?=\d+\.)/i, '').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  return isIP(bare) === 0 ? undefined : bare
}

/**
 * The part of the network that belongs to a single party: the whole address for IPv4; for IPv6 the first half (/64), within which every
 * party has 2^64 addresses to choose from.
 */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('%')[0]!.toLowerCase().split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(8 - left.length - right.length, 0)
  const groups = [...left, ...Array.from({ length: zeros }, () => '0'), ...right]
  return `${groups.slice(0, 4).join(':')}::/64`
}
