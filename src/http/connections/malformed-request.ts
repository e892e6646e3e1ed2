/** Answers malformed requests on the bare socket, then closes the socket: bytes without HTTP, too many headers, an incomplete request. */
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { isRetomaError, localized, RetomaError } from '../../errors/errors.ts'
import { errorResponse } from '../response/error-response.ts'
import { withSecurityHeaders } from '../security/security-headers.ts'

export const largestHeaders = 16 * 1024

export function refuseOnSocket(error: NodeJS.ErrnoException | RetomaError, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  void writeError(socket, isRetomaError(error) ? error : errorOf(error.code ?? '')).catch(() => socket.destroy())
}

function errorOf(code: string): RetomaError {
  if (code === 'HPE_HEADER_OVERFLOW') return new RetomaError('headers_too_large', { most: largestHeaders })
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new RetomaError('request_too_slow', {})
  return new RetomaError('bad_http', { problem: localized('it cannot be read', 'não dá para lê-la') })
}

/** Nothing of the request is known, not even its language. */
async function writeError(socket: Duplex, error: RetomaError): Promise<void> {
  const response = withSecurityHeaders(errorResponse(error, new Request('http://localhost/')), false)
  const body = await response.text()
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    ...Array.from(response.headers, ([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}
