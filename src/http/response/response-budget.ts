/**
 * Bounds the bytes of large responses that a server has made and the clients have not read yet. A client that sends requests and does not
 * read makes the server keep the whole response: 60 such requests for one job with an input of 8 MB kept 2.6 GB.
 *
 * Invariant: large responses to reads together keep at most `most` bytes, or a single response is the only one; responses to writes count and
 * pass. The bytes of a response are given back when the response closes, whether the client read the response or disconnected.
 */
import type { ServerResponse } from 'node:http'
import { RetomaError } from '../../errors/errors.ts'
import { withSecurityHeaders } from '../security/security-headers.ts'
import { errorResponse } from './error-response.ts'

const mostBytes = 64 * 1024 * 1024
/** Smaller responses do not count: the number of connections bounds them. */
const uncounted = 256 * 1024
const retrySeconds = 2

export class ResponseBudget {
  #bytes = 0
  readonly #most: number

  constructor(most = mostBytes) {
    this.#most = most
  }

  /**
   * Returns the response itself, or 503 `server_busy` to a read. The response to a write passes: the write is committed, and a client that
   * tries again would write twice.
   */
  admit(answer: Response, request: Request, outgoing: ServerResponse): Response {
    const bytes = request.method === 'HEAD' ? 0 : heldBytes(answer)
    if (bytes <= uncounted || outgoing.destroyed) return answer
    if (request.method === 'GET' && this.#bytes > 0 && this.#bytes + bytes > this.#most) {
      const busy = new RetomaError('server_busy', { seconds: retrySeconds }, { retryAfterSeconds: retrySeconds })
      return withSecurityHeaders(errorResponse(busy, request), answer.headers.has('strict-transport-security'))
    }
    this.#bytes += bytes
    outgoing.once('close', () => {
      this.#bytes -= bytes
    })
    return answer
  }
}

/** Counts JSON responses, which are one text in memory. A file is read only as fast as the client reads. */
const heldBytes = ({ headers }: Response): number =>
  headers.get('content-type') === 'application/json' && !headers.has('content-disposition')
    ? Number(headers.get('content-length') ?? 0)
    : 0
