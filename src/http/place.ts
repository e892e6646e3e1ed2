/**
 * Where a request comes from and what it was sent to. What proxies say of it (X-Forwarded-For, -Proto, -Host) is believed from
 * as many of them as stand in front (TRUST_PROXY), counted from this end: what a client has put there itself lies further left.
 */
import { networkOf, plainAddress } from '../lib/address.ts'
import type { Peer } from './route.ts'

export interface PlaceOptions {
  /** Where people reach it, such as https://jobs.example.com. */
  publicUrl?: string | undefined
  /** How many proxies stand in front. Default 0: what they say is not believed. */
  trustProxy?: number
}

/**
 * The mark of a request that Retoma's own server took while listening on loopback. Only server.ts sets the mark, and `retoma/http` does
 * not export the symbol: a program that mounts the app cannot set the mark by accident, whatever it passes as a peer.
 */
export const ownLoopback: unique symbol = Symbol('retoma.ownLoopback')

export interface MarkedPeer extends Peer {
  [ownLoopback]?: boolean
}

export interface Place extends MarkedPeer {
  host: string
  secure: boolean
}

export function placeOf(request: Request, peer: Peer, { publicUrl, trustProxy = 0 }: PlaceOptions): Place {
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

/** For limits by where somebody comes from; undefined: nobody knows. */
export const fromOf = ({ address }: Peer): string | undefined => address && networkOf(address)

function listIn(request: Request, name: string): string[] {
  const given = request.headers.get(name)
  return given === null ? [] : given.split(',').map(each => each.trim())
}

/** The last is the first from the right; where there are fewer, the leftmost. */
const nthFromRight = (list: readonly string[], n: number): string | undefined => list[Math.max(list.length - n, 0)]
