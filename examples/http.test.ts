/**
 * Retoma inside other frameworks' apps: each app is started as a reader would start the app, and receives requests
 * from outside.
 */
import { expect, inject, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../src/testing/index.ts'
import { answersAsItShould, listening, tellsWhatHappens } from './mounted.ts'
import { compile, installed, run, start } from './support.ts'

async function started(name: string) {
  const [database, folder] = await Promise.all([createTestDatabase(inject('serverUrl')), installed(name)])
  onTestFinished(database.drop)
  expect(await run(folder, [...compile, 'main.ts'])).toEqual({ code: 0, output: '' })
  return listening(start(folder, ['main.js'], { DATABASE_URL: database.url, PORT: '0' }), database.url)
}

for (const name of ['express', 'fastify', 'hono']) {
  test(`the example with ${name}: looked at, given work, and answers what is wrong, below its base path`, async () => {
    const { ask, origin, asked } = await started(name)
    await answersAsItShould(ask)
    expect(await (await fetch(origin)).text()).toContain('an app of yours')
    expect(await asked('SIGTERM')).toMatchObject({ code: 0, workers: [] })
  })

  test(`the example with ${name} streams events`, async () => {
    const { ask } = await started(name)
    await tellsWhatHappens(ask)
  })
}
