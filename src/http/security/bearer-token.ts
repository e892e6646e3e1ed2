/** Reads the credentials of a request: the bearer token and the session cookie. */

/**
 * Behind TLS a browser accepts a `__Host-` cookie only from this exact host, over TLS and for all paths: no page of a neighbouring host
 * can set another.
 */
const nameOf = (secure: boolean): string => (secure ? '__Host-retoma_session' : 'retoma_session')

/** The work grows only linearly with the length of the header, because any client may send a header. */
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

/** Scripts cannot read the cookie, and pages of other sites do not send the cookie along. `seconds` 0 removes the cookie. */
export const cookieWith = (value: string, seconds: number, secure: boolean): string =>
  `${nameOf(secure)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
