/** A real HTTP server in the place of a person's webhook: it keeps what it received, and misbehaves when asked to. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { WebhookNotice } from '../../src/incidents/model/notice.ts'

interface Posted {
  headers: IncomingHttpHeaders
  body: string
  notice: WebhookNotice
}

export interface Webhook {
  url: string
  posts: Posted[]
  /** The received events, in order. */
  events(): string[]
  /** How the next ones are answered; the last one given goes on. Default 204. */
  answers(...next: ((response: ServerResponse, socket: Socket) => void)[]): void
}

export const answerWith =
  (status: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, headers).end('so it is')

export async function webhook(): Promise<Webhook> {
  const posts: Posted[] = []
  let next: ((response: ServerResponse, socket: Socket) => void)[] = [answerWith(204)]
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', chunk => {
      body += chunk
    })
    request.on('end', () => {
      posts.push({ headers: request.headers, body, notice: JSON.parse(body) })
      const answer = next.length > 1 ? next.shift()! : next[0]!
      answer(response, request.socket)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/T0SECRETPATH`,
    posts,
    events: () => posts.map(each => each.notice.event),
    answers: (...given) => {
      next = given
    },
  }
}
