/**
 * A stand-in for Upstash: its REST API, as far as a command goes, in front of a real Redis, which runs every command. It
 * can be late, broken or silent when a test says so.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export const hasRedis = (process.env.PATH ?? '').split(':').some(path => existsSync(join(path, 'redis-server')))

export const upstashToken = 'upstash-token-that-no-log-may-show'

/** What it does with a request: as it should; an HTTP status; a text in the place of JSON; half of it; nothing at all. */
export type Mood = 'well' | 401 | 500 | 'garbage' | 'error' | 'other' | 'half' | 'never'

export interface StandIn {
  url: string
  mood: Mood
  /** Requests so far. */
  asked: number
  /** Resolves with the next request. */
  next(): Promise<void>
  /** One command, past the stand-in. */
  redis(...command: string[]): Promise<unknown>
}

/** Ends with the test, even when that is killed: Redis reads from a pipe of ours. */
export async function startUpstash(): Promise<StandIn> {
  const redis = await startRedis()
  const sockets = new Set<Socket>()
  let heard: () => void = () => {}
  const standIn: StandIn = {
    url: '',
    mood: 'well',
    asked: 0,
    next: () => new Promise(resolve => { heard = resolve }), // biome-ignore format: one line
    redis: (...command) => redis.ask(command),
  }
  const server = createServer(async (request, response) => {
    standIn.asked++
    const { mood } = standIn
    const command = await bodyOf(request)
    heard()
    await answer(request, response, command, mood, redis.ask)
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  standIn.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise(resolve => server.close(resolve))
    await redis.end()
  })
  return standIn
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of request) text += part
  return text
}

async function answer(
  { headers, method, url }: IncomingMessage,
  response: ServerResponse,
  body: string,
  mood: Mood,
  ask: (command: string[]) => Promise<unknown>,
): Promise<void> {
  const json = (status: number, value: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(value))
  }
  if (method !== 'POST' || url !== '/') return json(404, { error: 'not found' })
  if (mood === 401 || headers.authorization !== `Bearer ${upstashToken}`)
    return json(401, { error: 'WRONGPASS invalid or missing auth token' })
  if (mood === 500) return json(500, { error: 'ERR internal' })
  if (mood === 'never') return
  if (mood === 'error') return json(200, { error: 'ERR max daily request limit exceeded' })
  if (mood === 'other') return json(200, { result: 'OK' })
  if (mood === 'garbage') return void response.writeHead(200).end('<html>come in</html>')
  if (mood === 'half') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '40' })
    response.write('{"result": [1,')
    return void response.socket?.end()
  }
  const result = await ask(JSON.parse(body) as string[])
  json(result instanceof Error ? 400 : 200, result instanceof Error ? { error: result.message } : { result })
}

interface Redis {
  ask(command: string[]): Promise<unknown>
  end(): Promise<void>
}

/** On a unix socket of its own; a shell ends it when the pipe to us is closed. */
async function startRedis(): Promise<Redis> {
  const folder = mkdtempSync(join(tmpdir(), 'rtm-redis-'))
  const path = join(folder, 's')
  const script = `redis-server --port 0 --unixsocket ${path} --save '' --dir ${folder} </dev/null >/dev/null & cat >/dev/null; kill $!; wait $!`
  const shell = spawn('sh', ['-c', script], { stdio: ['pipe', 'ignore', 'inherit'] })
  const ended = new Promise(resolve => shell.on('exit', resolve))
  let socket: Socket | undefined
  while (socket === undefined) socket = await connected(path)
  return {
    ask: asker(socket),
    async end() {
      socket.destroy()
      shell.stdin.end()
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const connected = (path: string): Promise<Socket | undefined> =>
  new Promise(resolve => {
    const socket = connect(path, () => resolve(socket)).on('error', () => resolve(undefined))
  })

/** Commands on one connection: answers come in the order of the questions. */
function asker(socket: Socket): Redis['ask'] {
  const waiting: ((value: unknown) => void)[] = []
  let text = ''
  socket.setEncoding('utf8').on('data', chunk => {
    text += chunk
    for (let read = readReply(text, 0); read !== undefined; read = readReply(text, 0)) {
      text = text.slice(read.next)
      waiting.shift()!(read.value)
    }
  })
  return command =>
    new Promise(resolve => {
      waiting.push(resolve)
      const parts = command.map(part => `$${Buffer.byteLength(part)}\r\n${part}\r\n`)
      socket.write(`*${parts.length}\r\n${parts.join('')}`)
    })
}

/** RESP, as far as our commands need it; undefined: more is to come. */
function readReply(text: string, from: number): { value: unknown; next: number } | undefined {
  const end = text.indexOf('\r\n', from)
  if (end < 0) return undefined
  const line = text.slice(from + 1, end)
  const next = end + 2
  if (text[from] === '+') return { value: line, next }
  if (text[from] === '-') return { value: new Error(line), next }
  if (text[from] === ':') return { value: Number(line), next }
  if (text[from] === '$') {
    const length = Number(line)
    if (length < 0) return { value: null, next }
    return text.length < next + length + 2
      ? undefined
      : { value: text.slice(next, next + length), next: next + length + 2 }
  }
  const items: unknown[] = []
  let at = next
  for (let i = 0; i < Number(line); i++) {
    const read = readReply(text, at)
    if (read === undefined) return undefined
    items.push(read.value)
    at = read.next
  }
  return { value: items, next: at }
}
