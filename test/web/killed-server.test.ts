/** A server process that is killed while a person watches a batch in the browser. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import { z } from 'zod'
import { defineBatch, defineJob } from '../../src/index.ts'
import { migratedDatabase } from '../support/database.ts'
import { liveEngine } from '../support/engine.ts'
import { onTestFinished } from '../support/together.ts'
import { openPage } from './support/browser.ts'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Starts `retoma serve`, and resolves once the server answers. */
async function serve(databaseUrl: string, port: number, folder: string): Promise<ChildProcess> {
  const env = { PATH: process.env.PATH, HOME: folder, DATABASE_URL: databaseUrl, PORT: String(port) }
  const child = spawn(process.execPath, [main, 'serve', '--json'], { cwd: folder, env, stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}/health`).then(
      () => true,
      () => false,
    )
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(`serve ended with ${child.exitCode}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return child
}

test('a server is killed for 60 s while a batch is watched: the page says so, and shows the end of the batch when the server is back', async () => {
  const database = await migratedDatabase()
  onTestFinished(database.drop)
  const folder = mkdtempSync(join(tmpdir(), 'retoma-web-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const press = { start: () => {} }
  const started = new Promise<void>(resolve => {
    press.start = resolve
  })
  const letter = defineJob({ kind: 'letter', queue: 'post', input: z.number(), run: () => started })
  const batch = defineBatch({ name: 'letters', job: letter })
  const { engine } = await liveEngine([], { batches: [batch] }, database.url)
  const { id } = await engine.submit(batch, [1, 2, 3])
  const port = await freePort()
  const server = await serve(database.url, port, folder)

  const { page } = await openPage(`http://127.0.0.1:${port}/batches/${id}`)
  await page.clock.install()
  await page.reload()
  await page.locator('[data-live=live]').waitFor()
  await page.getByText('0 de 3').first().waitFor()
  server.kill('SIGKILL')
  await once(server, 'exit')
  await page.getByText(/Conexão perdida, tentando de novo · último número às \d\d:\d\d:\d\d/).waitFor()
  press.start()
  await using _ = await engine.work({ queues: { post: 3 } })
  await engine.wait({ batch: id })
  await page.clock.fastForward(60_000)
  await page.getByText(/Conexão perdida, tentando de novo/).waitFor()

  await serve(database.url, port, folder)
  await page.locator('[data-live=live]').waitFor()
  await page.getByText('3 de 3').first().waitFor()
})
