/** compose.yaml has a worker for every queue of the five systems, and gives the settings of every provider to its processes. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { classifier } from '../../apps/classifier/index.ts'
import { documents } from '../../apps/documents/index.ts'
import { planner } from '../../apps/planner/index.ts'
import { quotes } from '../../apps/quotes/index.ts'
import { snaps } from '../../apps/snaps/index.ts'
import { registered } from '../../src/cli/load-config.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const compose = read('compose.yaml')

test('the workers of compose.yaml serve every queue of the five systems, and the queue of jobs without a queue of their own', () => {
  const systems = [classifier(), quotes(), documents(), snaps(), planner()]
  const queues = ['default', ...systems.flatMap(system => Object.keys(registered(system).queues))]
  const [, list = ''] = /command: \[worker, --queues, "([^"]*)"\]/.exec(compose) ?? []
  expect(list.split(',').map(each => each.replace(/:\d+$/, ''))).toEqual(expect.arrayContaining(queues))
})

test('compose.yaml gives every setting of a provider to the API and to the workers', () => {
  const ofProviders = [
    ...read('.env.example').matchAll(/^# ((?:OPENROUTER|ANTHROPIC|SERPAPI|FIPE|PLUGGY|UPSTASH)_\w+)=/gm),
  ]
  expect(ofProviders.length).toBeGreaterThan(15)
  const [, environment = ''] = /\nx-environment: &environment\n([\s\S]*?)\n\n/.exec(compose) ?? []
  const given = [...environment.matchAll(/^ {2}(\w+): \$\{\1:-[^}]*\}$/gm)].map(([, name]) => name)
  expect(given).toEqual(expect.arrayContaining(ofProviders.map(([, name]) => name)))
})
