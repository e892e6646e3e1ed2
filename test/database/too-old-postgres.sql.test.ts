/** A PostgreSQL older than the oldest supported version is refused, and nothing is made in its database. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createEngine, defineJob } from '../../src/index.ts'
import type { TestServer } from '../../src/testing/index.ts'
import { isInstalled, startPackagedServer } from '../support/packaged-server.ts'

const any = defineJob({ kind: 'any', run: (_, input: unknown) => input })

describe.skipIf(!isInstalled('too-old'))('PostgreSQL 12', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startPackagedServer('too-old')
  })
  afterAll(() => server?.stop())

  test.each([true, false])('is refused, migrate: %s, and nothing is made in it', async migrate => {
    const refused = createEngine({ databaseUrl: server.url, jobs: [any], migrate })
    await expect(refused).rejects.toMatchObject({
      code: 'postgres_too_old',
      message: expect.stringMatching(/PostgreSQL 12\.\d+; Retoma needs 14 or newer/),
    })
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    onTestFinished(() => client.end())
    expect((await client.query(`select to_regnamespace('retoma') as made`)).rows).toEqual([{ made: null }])
  })
})
