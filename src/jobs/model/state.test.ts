import { expect, test } from 'vitest'
import { finalStates, isFinal, states, transitions, transitionsFrom } from './state.ts'

test('every state can be reached, and every state but the first is reached by a transition', () => {
  const reached = new Set(transitions.map(way => way.to))
  expect(states.filter(state => !reached.has(state))).toEqual([])
})

test('every transition has a name of its own and leads to one state', () => {
  const names = transitions.map(way => way.name)
  expect(new Set(names).size).toBe(names.length)
})

test('only a person moves what is final, and whatever is not final can be cancelled', () => {
  for (const state of finalStates) expect(transitionsFrom(state).map(way => way.by)).not.toContain('worker')
  for (const state of finalStates) expect(transitionsFrom(state).map(way => way.by)).not.toContain('watchdog')
  for (const state of states.filter(each => !isFinal(each)))
    expect(transitionsFrom(state).map(way => way.name)).toContain('cancel')
})

test('what succeeded stays, unless a person runs it anew', () => {
  expect(transitionsFrom('succeeded')).toMatchObject([{ name: 'rerun', by: 'person' }])
})

test('only a worker takes a job up, and only from waiting', () => {
  expect(transitions.filter(way => way.to === 'running')).toMatchObject([
    { name: 'claim', from: ['waiting'], by: 'worker' },
  ])
})
