/**
 * Decides whether an address is on the public internet. A link comes from a stranger, so only public unicast addresses may be connected to.
 *
 * Invariant: an address is public only if no block of the IANA special-purpose registries has the address. Every form that carries an IPv4
 * address inside an IPv6 address (mapped, compatible, NAT64, 6to4, Teredo) is refused as a whole, whatever the inner address.
 */
import { BlockList, isIP } from 'node:net'

const special4 = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // carrier-grade NAT, and the metadata of Alibaba
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, and the metadata of most clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments, and the metadata of Oracle
  ['192.0.2.0', 24], // documentation
  ['192.31.196.0', 24], // AS112
  ['192.52.193.0', 24], // AMT
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private
  ['192.175.48.0', 24], // AS112
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
  ['168.63.129.16', 32], // the host of a machine in Azure: a public address that leads inside
] as const

const special6 = [
  ['2001::', 23], // protocol assignments: Teredo, ORCHID, benchmarks
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4
  ['2620:4f:8000::', 48], // AS112
  ['3fff::', 20], // documentation
] as const

const refused4 = listOf(special4, 'ipv4')
const refused6 = listOf(special6, 'ipv6')
/** All global unicast addresses; everything else (loopback, mapped, NAT64, unique local, link-local, multicast) is outside. */
const global6 = listOf([['2000::', 3]], 'ipv6')

function listOf(blocks: readonly (readonly [string, number])[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of blocks) list.addSubnet(network, prefix, family)
  return list
}

/** `address`: as the resolver returns the address. Any other text, also an address with a zone, is not public. */
export function isPublicAddress(address: string): boolean {
  if (address.includes('%')) return false
  const family = isIP(address)
  if (family === 4) return !refused4.check(address, 'ipv4')
  return family === 6 && global6.check(address, 'ipv6') && !refused6.check(address, 'ipv6')
}
