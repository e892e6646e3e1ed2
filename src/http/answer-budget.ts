/**
 * The bytes of large answers that a server has made and its clients have not taken yet. A client that asks and does not read makes the
 * server hold the whole answer: sixty such requests for one job with an input of 8 MB held 2.6 GB.
 *
 * Invariant: large answers together hold at most `most` bytes, or one answer is the only one. What an answer took is given back when
 * its response closes, whether the client took the answer or went away.
 */
import type { ServerResponse } from 'node:http'
import { RetomaError } from '../errors.ts'
import { refusal } from './refusal.ts'
import { secured } from './security.ts'

const mostBytes = 64 * 1024 * 1024
/** Smaller answers do not count: the number of connections bounds them. */
const uncounted = 256 * 1024
const retrySeconds = 2

export class AnswerBudget {
  #bytes = 0
  readonly #most: number

  constructor(most = mostBytes) {
    this.#most = most
  }

  /** The answer itself, or 503 server_busy. */
  admit(answer: Response, request: Request, outgoing: ServerResponse): Response {
    const bytes = request.method === 'HEAD' ? 0 : heldBytes(answer)
    if (bytes <= uncounted || outgoing.destroyed) return answer
    if (this.#bytes > 0 && this.#bytes + bytes > this.#most) {
      const busy = new RetomaError('server_busy', { seconds: retrySeconds }, { retryAfterSeconds: retrySeconds })
      return secured(refusal(busy, request), answer.headers.has('strict-transport-security'))
    }
    this.#bytes += bytes
    outgoing.once('close', () => {
      this.#bytes -= bytes
    })
    return answer
  }
}

/** Of an answer in JSON, which is one text in memory; a file is read as the client takes it. */
const heldBytes = ({ headers }: Response): number =>
  headers.get('content-type') === 'application/json' && !headers.has('content-disposition')
    ? Number(headers.get('content-length') ?? 0)
    : 0
