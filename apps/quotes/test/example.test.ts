/** examples/quotes against a listening server with simulated providers. */
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createEngine } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { createApp, toNodeHandler } from '../../../src/http/index.ts'
import { migratedDatabase } from '../../../test/support/database.ts'
import { quotes } from '../index.ts'
import { readQuotesSettings } from '../settings.ts'

const script = fileURLToPath(new URL('../../../examples/quotes/quote.mjs', import.meta.url))

test('the example prints the checkpoints and the prices of a product and of a vehicle', async () => {
  const system = quotes({ settings: readQuotesSettings({}), simulatedDelays: false })
  const { url, drop } = await migratedDatabase('with systems')
  const engine = await createEngine({ databaseUrl: url, systems: [system], migrate: false, log: false })
  onTestFinished(() => engine.close().then(drop))
  await engine.work({ queues: { quotes: 5 } })
  const app = createApp(engine, { routes: system.routes, who: () => ({ user: 'ana', role: 'admin' }) })
  const server = createServer(toNodeHandler(app))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const env = { ...process.env, RETOMA_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  const given = ['notebook Dell Inspiron 15', 'Toyota Corolla XEi 2.0 2019']
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...given], { env })
  const [product, vehicle] = stdout.split(/^(?=\d+: )/m)
  expect(product).toMatch(
    /^1: notebook Dell Inspiron 15\n[\s\S]* % FINALIZATION\n {2}\d+\.\d\d BRL, confidence \w+\n {2}[+-] /,
  )
  expect(vehicle).toMatch(
    /^2: Toyota Corolla[^\n]*\n[\s\S]* % FINALIZATION\n {2}\d+\.00 BRL, confidence high\n {2}\+ \d+\.00 FIPE\n$/,
  )
})
