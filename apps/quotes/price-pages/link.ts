/**
 * Checks a link before any name is resolved: the scheme, the port, the length, a user name. The parser of the WHATWG brings each form of
 * an address (decimal, octal, hexadecimal, short, with Unicode dots) to the usual form, and this form is checked.
 */
import { isIP } from 'node:net'
import { isPublicAddress } from './public-address.ts'

export interface CheckedLink {
  url: URL
  /** Without brackets. */
  host: string
  port: number
  isSecure: boolean
  /** True: RETOMA_FETCH_ALLOW names the host and the port, so that any address is allowed. */
  isOpened: boolean
}

export type LinkProblem = 'bad_link' | 'forbidden_address'

const longestLink = 4096
/** No mail server and no database has these ports. */
const webPorts = [80, 443, 8080, 8443]
const localName = /(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|private|localdomain|home\.arpa)$/

/** `base`: the page with the redirect. `opened`: entries such as `127.0.0.1:8080`. */
export function checkLink(link: string, opened: readonly string[], base?: URL): CheckedLink | LinkProblem {
  const url = link.length <= longestLink && URL.canParse(link, base?.href) ? new URL(link, base?.href) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) return 'bad_link'
  if (url.username !== '' || url.password !== '' || url.href.length > longestLink) return 'bad_link'
  url.hash = ''
  const isSecure = url.protocol === 'https:'
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isOpened = opened.includes(`${url.hostname}:${port}`)
  const checked = { url, host, port, isSecure, isOpened }
  if (isOpened) return checked
  if (!webPorts.includes(port)) return 'forbidden_address'
  if (isIP(host) !== 0) return isPublicAddress(host) ? checked : 'forbidden_address'
  const name = host.replace(/\.$/, '')
  // A name without a dot is a name of the local network: the resolver adds the local domain.
  return !name.includes('.') || localName.test(name) ? 'forbidden_address' : checked
}
