/**
 * Every example with a `main.ts` runs as a reader would run the example, with the dependencies in the example's
 * package.json and no more.
 */
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../src/testing/index.ts'
import { compile, here, installed, packageOf, root, run } from './support.ts'

/** postgres.js does not read a socket folder from an address, so postgres.js gets an address with a port. */
async function overTcp(url: string): Promise<string> {
  const { pathname, username, port, searchParams } = new URL(url)
  const server = createServer(client => {
    const socket = connect(`${searchParams.get('host')}/.s.PGSQL.${port}`)
    for (const each of [client, socket]) each.on('error', () => each.destroy())
    client.pipe(socket).pipe(client)
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return `postgres://${username}@127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`
}

const withTransactions = ['pg', 'drizzle', 'kysely', 'prisma', 'postgres.js']

/** Runs the example on a new database. Returns the exit code and the output. */
async function printed(name: string): Promise<{ code: number; output: string }> {
  const [database, folder] = await Promise.all([createTestDatabase(inject('serverUrl')), installed(name)])
  onTestFinished(database.drop)
  expect(await run(folder, [...compile, 'main.ts'])).toEqual({ code: 0, output: '' })
  return run(folder, ['main.js'], name === 'postgres.js' ? await overTcp(database.url) : database.url)
}

for (const name of withTransactions) {
  test(`the example with ${name}: the job comes with the commit, and not without it`, async () => {
    const output = 'the invoice of order 1 is made\ncommitted: succeeded\nrolled back: no job\n'
    expect(await printed(name)).toEqual({ code: 0, output })
  })
}

test('the example of a batch: what failed runs again, and nothing that was saved does', async () => {
  const { code, output } = await printed('batch')
  expect(output.split('\n')).toEqual([
    'submitted: 200 documents',
    'told as they failed: D-013, D-050, D-199',
    'end 1: 197 of 200 succeeded, 3 failed',
    '3 failed for one cause: the provider refuses the key',
    '3 run again',
    'action: retry failed',
    'end 2: 200 of 200 succeeded, 0 failed',
    'succeeded, 100 % done; 200 texts were extracted',
    '',
  ])
  expect(code).toBe(0)
})

for (const name of [...withTransactions, 'batch', 'notify', 'express', 'fastify', 'hono']) {
  test(`the example ${name} asks for the versions it is tested with`, async () => {
    const [asked, tested, ours] = await Promise.all([join(here, name), here, root].map(packageOf))
    const known = { ...tested!.dependencies, pg: ours!.dependencies.pg, retoma: 'file:../..' }
    expect(known).toMatchObject(asked!.dependencies)
  })
}

test('the example next asks for the versions it is tested with', async () => {
  const [asked, tested] = await Promise.all([join(here, 'next'), join(root, 'test', 'next')].map(packageOf))
  const { dependencies, devDependencies } = tested!
  expect(asked).toMatchObject({ dependencies: { ...dependencies, retoma: 'file:../..' }, devDependencies })
})

test('every example is a package of its own, on the Retoma of this checkout, and the list names it', async () => {
  const list = await readFile(join(here, 'README.md'), 'utf8')
  for (const entry of await readdir(here, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name === 'node_modules') continue
    expect((await packageOf(join(here, entry.name))).dependencies, entry.name).toHaveProperty('retoma', 'file:../..')
    expect(list).toContain(`[${entry.name}](${entry.name})`)
  }
})

test('the Prisma client is generated from the schema beside it', async () => {
  const schema = await readFile(join(here, 'prisma', 'schema.prisma'), 'utf8')
  const generated = await readFile(join(here, 'prisma', 'generated', 'internal', 'class.ts'), 'utf8')
  expect(generated).toContain(JSON.stringify(schema))
})
