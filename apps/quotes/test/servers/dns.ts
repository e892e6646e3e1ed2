/** A name server on loopback whose answers change: each name has a list of answers, one for each question; the last answer repeats. */
import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import type { Address } from '../../price-pages/http-get.ts'

export interface DnsServer {
  /** Each further argument is the answer to a further question. */
  set(name: string, ...answers: string[][]): void
  /** The number of questions about a name. */
  asked(name: string): number
  /** Asks this server and no other. */
  resolve(host: string): Promise<Address[]>
  close(): Promise<void>
}

const typeA = 1

export async function dnsServer(): Promise<DnsServer> {
  const names = new Map<string, string[][]>()
  const counts = new Map<string, number>()
  const socket = createSocket('udp4')
  socket.on('message', (question, { address, port }) => {
    const { name, end } = nameIn(question)
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    const answers = names.get(name) ?? []
    const addresses = answers[Math.min(count, answers.length) - 1] ?? []
    socket.send(replyTo(question.subarray(0, end + 4), addresses), port, address)
  })
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve))
  const resolver = new Resolver({ tries: 1 })
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return {
    set: (name, ...answers) => void names.set(name, answers),
    asked: name => counts.get(name) ?? 0,
    resolve: async host => (await resolver.resolve4(host)).map(address => ({ address, family: 4 })),
    close: () => new Promise(resolve => socket.close(() => resolve())),
  }
}

function nameIn(message: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = message[at]!; length > 0; length = message[at]!) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 }
}

function replyTo(question: Buffer, addresses: readonly string[]): Buffer {
  const header = Buffer.from(question)
  // An answer, with recursion; no such name if there is no address.
  header.writeUInt16BE(addresses.length > 0 ? 0x8180 : 0x8183, 2)
  header.writeUInt16BE(addresses.length, 6)
  header.writeUInt32BE(0, 8)
  const records = addresses.map(address => {
    const record = Buffer.alloc(16)
    record.writeUInt16BE(0xc00c, 0)
    record.writeUInt16BE(typeA, 2)
    record.writeUInt16BE(1, 4)
    record.writeUInt32BE(0, 6)
    record.writeUInt16BE(4, 10)
    record.set(address.split('.').map(Number), 12)
    return record
  })
  return Buffer.concat([header, ...records])
}
