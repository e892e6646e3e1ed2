import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { routesOf } from '../../src/http/app.ts'
import { route } from '../../src/http/index.ts'
import { type Json, openApiOf } from '../../src/http/openapi.ts'
import type { Engine } from '../../src/index.ts'
import { unseen } from '../support/seen-codes.ts'
import { doorWith } from './support.ts'

test('the document is valid OpenAPI 3.1', async () => {
  const { ask } = await doorWith()
  const { status, body } = await ask('GET', '/api/openapi.json')
  expect({ status, openapi: body.openapi }).toEqual({ status: 200, openapi: '3.1.0' })
  const { valid, errors } = await new Validator().validate(body)
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined })
})

test('every route is in it, once, under a name of its own', async () => {
  const routes = routesOf({})
  const { paths } = openApiOf(routes)
  const reported = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(method => `${method} ${path}`),
  )
  expect(reported.sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort())
  const names = routes.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})

test('every route says its parameters, and every parameter of its path', () => {
  for (const [path, methods] of Object.entries(openApiOf(routesOf({})).paths)) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    for (const [method, { parameters }] of Object.entries(methods))
      expect(
        parameters.filter(each => each.in === 'path').map(each => each.name),
        `${method} ${path}`,
      ).toEqual(inPath)
  }
})

test('every reference in it leads somewhere', () => {
  const document = openApiOf(routesOf({}))
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, to]) => to!)
  expect(references.length).toBeGreaterThan(10)
  const known = Object.keys(document.components.schemas).map(name => `#/components/schemas/${name}`)
  expect([...new Set(references)].filter(each => !known.includes(each))).toEqual([])
})

test('what two forms of one name are is shown as two', () => {
  const one = z.object({ a: z.string() }).meta({ id: 'Thing' })
  const other = z.object({ b: z.string() }).meta({ id: 'Thing' })
  const answering = (name: string, answer: z.ZodType) =>
    route({ method: 'get', path: `/${name}`, name, tag: 't', summary: 's', role: 'open', answer, run: () => ({}) })
  const { components } = openApiOf([answering('one', one), answering('other', other), answering('again', one)])
  expect(Object.keys(components.schemas)).toEqual(['Error', 'Thing', 'ThingOfother'])
})

test('what a route refuses with is shown with its status and its sentence', () => {
  const { paths } = openApiOf(routesOf({}))
  const { responses, parameters } = paths['/api/v1/batches']!.post!
  expect(Object.keys(responses)).toEqual(
    expect.arrayContaining(['200', '201', '400', '401', '403', '409', '413', '415', '429', '500', '503']),
  )
  expect(responses[400]!.description).toContain('`unknown_batch`: there is no batch named')
  expect(responses[429]!.headers).toHaveProperty('Retry-After')
  expect(parameters.map(each => each.name)).toContain('Idempotency-Key')
})

const answering = (value: unknown, more: object = {}) =>
  doorWith([], {
    app: {
      routes: [
        route({
          method: 'get',
          path: '/odd',
          name: 'odd',
          tag: 'odd',
          summary: 'odd',
          role: 'open',
          answer: z.object({ at: z.iso.datetime(), n: z.number() }),
          run: () => value,
          ...more,
        }),
      ],
    },
  })

test.each([
  ['a field too few', { at: '2030-01-01T00:00:00Z' }],
  ['a field too many', { at: '2030-01-01T00:00:00Z', n: 1, m: 2 }],
  ['a field of another type', { at: '2030-01-01T00:00:00Z', n: '1' }],
  ['an instant that is none', { at: 'yesterday', n: 1 }],
  ['another status', Response.json({ at: '2030-01-01T00:00:00Z', n: 1 }, { status: 202 })],
  ['another type', new Response('ok')],
])('an answer with %s than the document tells fails the test that gets it', async (_, value) => {
  const { ask } = await answering(value)
  await expect(ask('GET', '/odd')).rejects.toThrow(/GET \/odd/)
})

test('a code that a route does not tell fails the test that gets it', async () => {
  const run = async ({ engine }: { engine: Engine }) => engine.batches.pause('0')
  await expect((await answering(null, { run })).ask('GET', '/odd')).rejects.toThrow(/404, which is not in the document/)
  const { ask } = await answering(null, { run, errors: ['not_found'] })
  expect((await ask('GET', '/odd')).status).toBe(404)
})

test('a code that a route tells and no test has got is named at the end of a run', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'retoma-seen-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'codes')
  await writeFile(file, 'post /api/v1/jobs key_locked\n')
  const missing = unseen(file)
  expect(missing).toEqual(expect.arrayContaining(['post /api/v1/jobs bad_input', 'get /api/v1/jobs/{id} not_found']))
  expect(missing).not.toContain('post /api/v1/jobs key_locked')
})

test('mounted elsewhere it says where', async () => {
  const { ask } = await doorWith([], { app: { basePath: '/retoma' } })
  const { body } = await ask('GET', '/retoma/api/openapi.json')
  expect(body.servers).toEqual([{ url: '/retoma' }])
})

test('the page for people shows every route, with nothing from elsewhere and no script', async () => {
  const { ask } = await doorWith()
  for (const [language, word] of [
    ['en', 'Who may'],
    ['pt-BR', 'Quem pode'],
  ] as const) {
    const { status, headers, body } = await ask('GET', '/api/docs', { headers: { 'accept-language': language } })
    expect({ status, type: headers.get('content-type') }).toEqual({ status: 200, type: 'text/html; charset=utf-8' })
    expect(body).toContain(word)
    for (const { name, path } of routesOf({})) {
      expect(body).toContain(`id="${name}"`)
      expect(body).toContain(path)
    }
    expect(body).not.toMatch(/<script|style=|<style|https?:\/\//)
  }
  expect((await ask('GET', '/api/docs.css')).headers.get('content-type')).toBe('text/css; charset=utf-8')
})

test('what a route says of itself is text on that page, never markup', async () => {
  const odd = { summary: '<img src=x onerror=alert(1)> & "more"', tag: '"><b>' }
  const { ask } = await answering(null, odd)
  const { body } = await ask('GET', '/api/docs')
  expect(body).toContain('&lt;img src=x onerror=alert(1)&gt; &amp; &quot;more&quot;')
  expect(body).not.toContain('<img')
  expect(body).not.toContain('"><b>')
})

test('every schema of a request names what it takes, so that a typo is noticed', () => {
  for (const [path, methods] of Object.entries(openApiOf(routesOf({})).paths))
    for (const [method, { requestBody }] of Object.entries(methods)) {
      if (requestBody === undefined) continue
      const { schema } = (requestBody.content as Record<string, { schema: Json }>)['application/json']!
      expect(JSON.stringify(schema), `${method} ${path}`).toContain('"additionalProperties":false')
    }
})
