/** An application's own errors and routes behind the door. */
import { expect, test } from 'vitest'
import { createApp, type Route, route } from '../../src/http/index.ts'
import { defineErrors, RetomaError } from '../../src/index.ts'
import { engineOf } from '../support/engine.ts'
import { doorWith } from './support.ts'

const errors = defineErrors({
  sold_out: { status: 409, en: 'seat {seat} is sold', pt: 'o assento {seat} já foi vendido' },
})
const seats = (path: string, given: Partial<Route> = {}): Route =>
  route({
    method: 'post',
    path,
    name: 'takeSeat',
    tag: 'seats',
    summary: 'Takes a seat',
    role: 'operator',
    errors: [errors.sold_out],
    run: () => {
      throw new RetomaError(errors.sold_out, { seat: '4F' })
    },
    ...given,
  })

test('an error of an application leaves as one of Retoma does, and the OpenAPI document names it', async () => {
  const { ask } = await doorWith([], { app: { routes: [seats('/seats')] } })
  expect(await ask('POST', '/seats')).toMatchObject({
    status: 409,
    body: { error: { code: 'sold_out', message: 'seat 4F is sold', seat: '4F' } },
  })
  const reported = await ask('POST', '/seats', { headers: { 'accept-language': 'pt-BR' } })
  expect(reported.body.error.message).toBe('o assento 4F já foi vendido')
  const { paths } = (await ask('GET', '/api/openapi.json')).body
  const refusal = paths['/seats'].post.responses['409']
  expect(refusal.description).toBe('`sold_out`: seat {seat} is sold')
  expect(JSON.stringify(refusal.content)).toContain('"enum":["sold_out"]')
})

test('without Accept-Language an application answers in English, or in the language of its route; the engine always in English', async () => {
  const messages = async (routes: Route[], ...paths: string[]) => {
    const { ask } = await doorWith([], { app: { routes } })
    const answers = paths.map(path => ask('POST', path, { headers: { 'accept-language': '' } }))
    return (await Promise.all(answers)).map(each => each.body.error.message)
  }
  const english = 'seat 4F is sold'
  expect(await messages([seats('/seats')], '/seats', '/seatz')).toEqual([
    english,
    expect.stringMatching(/^there is no/),
  ])
  const both = [seats('/seats'), seats('/assentos', { language: 'pt' })]
  expect(await messages(both, '/seats', '/assentos', '/assento', '/api/v1/no-such')).toEqual([
    english,
    'o assento 4F já foi vendido',
    expect.stringMatching(/^não /),
    expect.stringMatching(/^there is no/),
  ])
})

test('routes that cannot live together are refused when the door is made, and not when one is asked', async () => {
  const { engine } = await engineOf({ jobs: [] })
  const others = defineErrors({ sold_out: { status: 410, en: 'gone', pt: 'acabou' } })
  const make = (...routes: Route[]) => createApp(engine, { routes })
  expect(() => make(seats('/a'), seats('/b', { errors: [others.sold_out] }))).toThrow(
    'the definition of error "sold_out" is not usable: two tables define it',
  )
  expect(() => make(seats('/seats/{id}'), seats('/seats/{seat}'))).toThrow(
    'the definition of route "POST /seats/{seat}" is not usable: another route is there already',
  )
  expect(() => make(seats('/health', { method: 'get' })), "Retoma's own").toThrow('route "GET /health"')
  expect(() => make(seats('/seats/{id}'), seats('/seats/{id}', { method: 'get' })), 'another method').not.toThrow()
})
