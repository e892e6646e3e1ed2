/**
 * Tells link-local addresses, at which clouds give the keys of a machine (169.254.169.254). A webhook comes from a request, and no receiver
 * of notices has such an address. Private addresses are allowed: a receiver may be in the same network.
 */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'

const refused = new BlockList()
refused.addSubnet('169.254.0.0', 16, 'ipv4')
refused.addAddress('168.63.129.16', 'ipv4') // the host of a machine in Azure
refused.addAddress('100.100.100.200', 'ipv4') // the metadata of Alibaba
refused.addSubnet('fe80::', 10, 'ipv6')
refused.addAddress('fd00:ec2::254', 'ipv6') // the metadata of AWS

/** `host`: of a URL; an IPv6 address is in brackets. A name is judged by `allowedAddresses`. */
export function isLinkLocalHost(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '')
  const family = isIP(address)
  if (family === 0) return /^metadata\.google\.internal\.?$/i.test(address)
  return refused.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

/** Resolves the name of a host: no address for an unknown name. undefined: the name or one of the addresses is refused. */
export async function allowedAddresses(host: string): Promise<LookupAddress[] | undefined> {
  if (isLinkLocalHost(host)) return undefined
  const found = await lookup(host.replace(/^\[|\]$/g, ''), { all: true }).catch(() => [])
  return found.some(({ address }) => isLinkLocalHost(address)) ? undefined : found
}
