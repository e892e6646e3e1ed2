/** Retoma inside other frameworks' apps, behind a proxy on the same machine: no request gets access by address. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../src/testing/index.ts'
import { isClosed, isOpen, proxyBefore, withAccess } from './behind-proxy.ts'
import { listening } from './mounted.ts'
import { compile, installed, root, run, start } from './support.ts'

async function database(): Promise<string> {
  const { url, drop } = await createTestDatabase(inject('serverUrl'))
  onTestFinished(drop)
  return url
}

async function started(folder: string, env: Record<string, string>) {
  const databaseUrl = await database()
  const { origin } = await listening(
    start(folder, ['main.js'], { DATABASE_URL: databaseUrl, PORT: '0', ...env }),
    databaseUrl,
  )
  return [`${origin}/retoma`, databaseUrl] as const
}

test.each(['express', 'fastify', 'hono'])(
  'behind a proxy, %s answers 401 until a token exists or `open: true` was written',
  async name => {
    const folder = await installed(name)
    const file = join(folder, 'main.ts')
    await writeFile(file, withAccess(await readFile(file, 'utf8')))
    expect(await run(folder, [...compile, 'main.ts'])).toEqual({ code: 0, output: '' })
    await isClosed(...(await started(folder, { ACCESS: 'none' })))
    await isOpen(...(await started(folder, { ACCESS: 'open' })))
  },
)

test.each(['serve', 'up'])(
  '`retoma %s` on loopback is open while there is no token, and refuses a request that names its proxy',
  async command => {
    const databaseUrl = await database()
    const program = join(root, 'dist', 'cli', 'main.js')
    const folder = await installed('express')
    const child = start(folder, [program, command, '--json'], { DATABASE_URL: databaseUrl, PORT: '0' })
    const { origin, asked } = await listening(child, databaseUrl)
    const proxied = await proxyBefore(origin)
    expect((await fetch(`${proxied}/api/v1/jobs`)).status).toBe(200)
    const told = await fetch(`${proxied}/api/v1/jobs`, { headers: { 'x-forwarded-for': '203.0.113.7' } })
    expect({ status: told.status, body: await told.json() }).toMatchObject({
      status: 403,
      body: { error: { code: 'proxy_without_token' } },
    })
    expect(await asked('SIGTERM')).toMatchObject({ code: 0, workers: [] })
  },
)
