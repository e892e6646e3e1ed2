/**
 * A proxy on loopback which adds no header, and the correct answers of an app behind such a proxy: the address of a client proves nothing
 * there.
 */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { createEngine } from '../src/index.ts'
import { until } from '../test/support/engine.ts'

/** The address of a proxy before `origin`. */
export async function proxyBefore(origin: string): Promise<string> {
  const proxy = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming
    const onward = request(new URL(url ?? '/', origin), { method, headers }, answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    proxy.close()
    proxy.closeAllConnections()
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

/** An example in which ACCESS=none leaves `who` out, and ACCESS=open writes `open: true` instead. */
export function withAccess(text: string): string {
  const options = /(const options = \{ [^}]*?)\bwho\b([^}]*\})/
  expect(text).toMatch(options)
  const access = `process.env.ACCESS === 'none' ? {} : process.env.ACCESS === 'open' ? { open: true } : { who }`
  return text.replace(options, `$1...(${access})$2`)
}

async function createToken(databaseUrl: string): Promise<string> {
  await using engine = await createEngine({ databaseUrl, log: false })
  return (await engine.tokens.create({ user: 'ana', role: 'admin' })).token
}

const statusAt = async (origin: string, token?: string) => {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const body = JSON.stringify({ name: 'hellos', items: [{ name: 'Ana' }] })
  const json = { 'content-type': 'application/json', ...headers }
  const read = await fetch(`${origin}/api/v1/jobs`, { headers })
  const made = await fetch(`${origin}/api/v1/batches`, { method: 'POST', body, headers: json })
  return [read.status, made.status]
}

/** 401 for all, until a token exists; then only with the token. */
export async function isClosed(origin: string, databaseUrl: string): Promise<void> {
  const proxied = `${await proxyBefore(new URL(origin).origin)}${new URL(origin).pathname}`
  for (const each of [proxied, origin]) expect(await statusAt(each)).toEqual([401, 401])
  const token = await createToken(databaseUrl)
  await until(async () => (await statusAt(proxied, token))[0] === 200)
  expect(await statusAt(proxied, token)).toEqual([200, 201])
  expect(await statusAt(proxied)).toEqual([401, 401])
}

/** Open for all, because the application says so, until a token exists. */
export async function isOpen(origin: string, databaseUrl: string): Promise<void> {
  const proxied = `${await proxyBefore(new URL(origin).origin)}${new URL(origin).pathname}`
  expect(await statusAt(proxied)).toEqual([200, 201])
  const token = await createToken(databaseUrl)
  await until(async () => (await statusAt(proxied))[0] === 401)
  expect(await statusAt(proxied, token)).toEqual([200, 201])
}
