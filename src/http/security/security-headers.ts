/**
 * Adds the security headers of every response: a browser does not guess the type, runs no foreign script, shows the response in no frame,
 * and gives the response to no other site. There is no CORS: pages of other sites read nothing.
 */
const bare = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const page = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

const always: readonly (readonly [string, string])[] = [
  ['x-content-type-options', 'nosniff'],
  ['x-frame-options', 'DENY'],
  // Not no-referrer: with no-referrer a browser sends "null" as the origin of a form, and Retoma's own forms would be refused.
  ['referrer-policy', 'same-origin'],
  ['cross-origin-opener-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
]

/** Returns the same response with the security headers; existing headers stay. */
export function withSecurityHeaders(response: Response, secure: boolean): Response {
  try {
    addTo(response.headers, secure)
    return response
  } catch {
    // The headers are immutable, for example those of a redirect.
    const headers = new Headers(response.headers)
    addTo(headers, secure)
    return new Response(response.body, { status: response.status, statusText: response.statusText, headers })
  }
}

function addTo(headers: Headers, secure: boolean): void {
  for (const [name, value] of always) if (!headers.has(name)) headers.set(name, value)
  if (!headers.has('content-security-policy'))
    headers.set('content-security-policy', headers.get('content-type')?.startsWith('text/html') ? page : bare)
  if (secure) headers.set('strict-transport-security', 'max-age=31536000')
}
