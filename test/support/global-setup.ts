/**
 * One throw-away server for a whole test run; every test makes a database of its own on it. One list of what was refused. And
 * dist/ as the sources are: the processes and threads that tests start run what was built, because Node 20 cannot read TypeScript.
 *
 * It is asked for once by each project of vitest.config.ts: the first begins, and the last to leave ends it.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'

const { setup: build } = await import(new URL('../../scripts/setup.mjs', import.meta.url).href)

declare module 'vitest' {
  interface ProvidedContext {
    serverUrl: string
    /** The database that has our tables and nothing in them: to be copied, never to be connected to. */
    template: string
    /** The same with the tables of the systems in apps/. */
    systemsTemplate: string
    seenCodes: string
  }
}

async function begin() {
  await build({ build: true })
  // Loaded only now: they come from the build.
  const [{ createEngine }, { createTestDatabase, startTestServer }] = await Promise.all([
    import('../../src/index.ts'),
    import('../../src/testing/index.ts'),
  ])
  const server = await startTestServer()
  await vacuumSeldom(server.url)
  const { url } = await createTestDatabase(server.url)
  await (await createEngine({ databaseUrl: url, log: false })).close()
  const { url: withSystems } = await createTestDatabase(server.url)
  const systems = ['classifier', 'quotes', 'documents', 'snaps', 'planner'].map(name => ({
    name,
    migrations: new URL(`../../apps/${name}/sql/`, import.meta.url),
  }))
  await (await createEngine({ databaseUrl: withSystems, log: false, systems })).close()
  const folder = await mkdtemp(join(tmpdir(), 'retoma-seen-'))
  const seenCodes = join(folder, 'codes')
  await writeFile(seenCodes, '')
  const end = async () => {
    await Promise.all([server.stop(), rm(folder, { recursive: true, force: true })])
  }
  const nameOf = (url: string) => new URL(url).pathname.slice(1)
  return { serverUrl: server.url, template: nameOf(url), systemsTemplate: nameOf(withSystems), seenCodes, end }
}

/** With some hundred databases on the server, a vacuum worker would otherwise start several times a second. */
async function vacuumSeldom(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`alter system set autovacuum_naptime = '30min'`)
  await client.query(`select pg_reload_conf()`)
  await client.end()
}

interface Run {
  users: number
  begun: ReturnType<typeof begin>
}
// Each project loads this module anew, in the same process.
const here = globalThis as { retomaTestRun?: Run }

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  here.retomaTestRun ??= { users: 0, begun: begin() }
  const run = here.retomaTestRun
  run.users++
  const { serverUrl, template, systemsTemplate, seenCodes, end } = await run.begun
  project.provide('serverUrl', serverUrl)
  project.provide('template', template)
  project.provide('systemsTemplate', systemsTemplate)
  project.provide('seenCodes', seenCodes)
  return async () => {
    if (--run.users > 0) return
    const { sawAll, unseen } = await import('./seen-codes.ts')
    const missing = sawAll(project) ? unseen(seenCodes) : []
    await end()
    delete here.retomaTestRun
    if (missing.length === 0) return
    console.error(`reported by a route, and seen by no test:\n${missing.join('\n')}`)
    // What is thrown here is printed, and no more.
    process.exitCode = 1
  }
}
