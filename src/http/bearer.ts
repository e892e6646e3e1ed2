/** What a request carries to say who asks. */

/** Behind TLS a browser takes `__Host-` only from this very host, over TLS and for all paths: no neighbour's page can set another. */
const nameOf = (secure: boolean): string => (secure ? '__Host-retoma_session' : 'retoma_session')

/** The work grows with the length of the header, and no faster: anybody may send one. */
export function bearerOf(request: Request): string | undefined {
  const given = request.headers.get('authorization') ?? ''
  if (!/^bearer /i.test(given)) return undefined
  const secret = given.slice('bearer '.length).trim()
  return secret === '' ? undefined : secret
}

export function cookieOf(request: Request, secure: boolean): string | undefined {
  const cookieName = nameOf(secure)
  for (const pair of (request.headers.get('cookie') ?? '').split(';')) {
    const [name, value] = pair.split('=', 2)
    if (name?.trim() === cookieName && value) return value.trim()
  }
  return undefined
}

/** Not to be read by scripts, not sent along by pages of other sites. `seconds` 0 takes it away. */
export const cookieWith = (value: string, seconds: number, secure: boolean): string =>
  `${nameOf(secure)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
