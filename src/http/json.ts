/** An answer in JSON. Made of a text: the server then sends it without a stream in between. */
export function json(value: unknown, status: number, headers: Headers): Response {
  return jsonText(JSON.stringify(value), status, headers)
}

export function jsonText(text: string, status: number, headers: Headers): Response {
  headers.set('content-type', 'application/json')
  return new Response(text, { status, headers })
}
