/**
 * Determines the client address, the host and the protocol of a request. The headers of proxies (X-Forwarded-For, -Proto, -Host) are
 * trusted for as many proxies as are in front (TRUST_PROXY), counted from the right: entries that a client wrote itself are further left.
 */
import { networkOf, plainAddress } from '../../lib/network-address.ts'
import type { Peer } from '../route.ts'

export interface ClientAddressOptions {
  /** The public address, such as https://jobs.example.com. Default: the host of each request. */
  publicUrl?: string | undefined
  /** The number of proxies in front. Default 0: the headers of proxies are ignored. */
  trustProxy?: number
}

/**
 * Flags a request that Retoma's own server accepted while listening on loopback. Only http/server.ts sets this field, and `retoma/http` does
 * not export the symbol: a program that mounts the app cannot set the field by accident, with any peer.
 */
export const ownLoopback: unique symbol = Symbol('retoma.ownLoopback')

export interface MarkedPeer extends Peer {
  [ownLoopback]?: boolean
}

export interface ClientAddress extends MarkedPeer {
  host: string
  secure: boolean
}

export function clientAddressOf(
  request: Request,
  peer: Peer,
  { publicUrl, trustProxy = 0 }: ClientAddressOptions,
): ClientAddress {
  const url = new URL(request.url)
  const said = (name: string) => (trustProxy > 0 ? nthFromRight(listIn(request, name), trustProxy) : undefined)
  const hops = [...(trustProxy > 0 ? listIn(request, 'x-forwarded-for') : []), peer.address ?? '']
  const host = said('x-forwarded-host') ?? request.headers.get('host') ?? url.host
  const open = publicUrl === undefined ? undefined : new URL(publicUrl)
  const secure =
    url.protocol === 'https:' ||
    said('x-forwarded-proto')?.toLowerCase() === 'https' ||
    (open?.protocol === 'https:' && open.host === host.toLowerCase())
  return { ...peer, address: plainAddress(nthFromRight(hops, trustProxy + 1) ?? ''), host, secure }
}

/** The key of limits by client network; undefined if the address is unknown. */
export const fromOf = ({ address }: Peer): string | undefined => address && networkOf(address)

function listIn(request: Request, name: string): string[] {
  const given = request.headers.get(name)
  return given === null ? [] : given.split(',').map(each => each.trim())
}

/** The last entry is the first from the right; if there are fewer entries, the leftmost. */
const nthFromRight = (list: readonly string[], n: number): string | undefined => list[Math.max(list.length - n, 0)]
