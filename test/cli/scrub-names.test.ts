import { expect, test } from 'vitest'
import { namesInUrl, scrub } from '../../src/cli/scrub-names.ts'

test('names go from texts, however short, and never from the name of a field or the middle of a word', () => {
  const given = { workers: [{ id: 'worker' }], n: 1, none: null, text: 'two workers on worker, Worker:5432 and (db)' }
  expect(scrub(given, ['worker', 'db', ''])).toEqual({
    workers: [{ id: '…' }],
    n: 1,
    none: null,
    text: 'two workers on …, …:5432 and (…)',
  })
})

test('a folder goes with all that is said of it, and what looks like a pattern is a name', () => {
  const text = 'no file /home/ana/x, a.b or axb'
  expect(scrub(text, ['/home/ana', 'a.b'])).toBe('no file …/x, … or axb')
})

test('of a connection string nothing is left: host, user, password, database', () => {
  const url = 'postgres://an%C3%A1:s3cret@db.internal.example:5432/prod?host=/run/pg'
  const text = `at db.internal.example:5432/prod, user "aná", password s3cret, /run/pg, ${url}, mysql://x:y@elsewhere/z`
  expect(scrub(text, namesInUrl(url))).toBe('at …:5432/…, user "…", password …, …, …, mysql://elsewhere/z')
  expect(scrub('it is "not a url"', namesInUrl('not a url'))).toBe('it is "…"')
})

test('what every database has is left to be read', () => {
  const text = 'run: retoma migrate; localhost:5432/postgres'
  expect(scrub(text, namesInUrl('postgres://postgres@localhost/retoma'))).toBe(text)
})
