import pg from 'pg'
import { expect, test } from 'vitest'
import { targetOf, targetOfPool, threadConnectionOf } from './connection-target.ts'

const tls = () => ({ ca: 'authority', cert: 'certificate', key: 'key' })

test('a thread gets the key of TLS, although pg hides the key in a given configuration', () => {
  const connection = { host: 'db.example.com', ssl: tls() }
  const client = new pg.Client(connection)
  expect(Object.keys(connection.ssl)).not.toContain('key')
  expect(client.host).toBe('db.example.com')
  expect(threadConnectionOf(targetOf(connection))?.config.ssl).toEqual(tls())
  const pool = new pg.Pool({ host: 'db.example.com', ssl: tls() })
  expect(threadConnectionOf(targetOfPool(pool))?.config.ssl).toEqual(tls())
})

test.each([[true], [false], [{ ca: 'authority' }], [undefined]])('a thread gets ssl %j as given', ssl => {
  expect(threadConnectionOf(targetOf({ host: 'db.example.com', ssl }))?.config.ssl).toEqual(ssl)
})

test('a thread gets no connection whose TLS has a function', () => {
  const ssl = { checkServerIdentity: () => undefined }
  expect(threadConnectionOf(targetOf({ host: 'db.example.com', ssl }))).toBeUndefined()
})
