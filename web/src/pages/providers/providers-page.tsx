/** The providers: which wait or are stopped, since when, in their words, and the button that ends the wait. */
import { CircleCheck, Clock, OctagonAlert, Plug, RotateCw } from 'lucide-react'
import { Link, useParams } from 'wouter'
import { type ItemOf, useAction, useApiList } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { useToast } from '../../components/toast.tsx'
import { Tooltip } from '../../components/tooltip.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { providersMessages } from './messages.ts'

type Provider = ItemOf<'GET /api/v1/providers'>

const refreshMs = 5000
const order = { stopped: 0, waiting: 1, open: 2 } as const
const looks = {
  stopped: { tone: 'bad', icon: OctagonAlert },
  waiting: { tone: 'warn', icon: Clock },
  open: { tone: 'good', icon: CircleCheck },
} as const

export default function ProvidersPage() {
  const words = useMessages(providersMessages)
  const providers = useApiList('GET /api/v1/providers', { query: { limit: 500 } }, { every: refreshMs })
  const { name: one } = useParams()
  if (one !== undefined)
    return <Loading of={providers}>{({ items }) => <OneProvider name={one} all={items} />}</Loading>
  return (
    <>
      <PageHeader title={words.title} subtitle={words.subtitle} />
      <Loading of={providers}>
        {({ items }) =>
          items.length === 0 ? (
            <Nothing />
          ) : (
            <div class="grid gap-4 lg:grid-cols-2 wide:grid-cols-3">
              {[...items]
                .sort((a, b) => order[a.state] - order[b.state])
                .map(provider => (
                  <ProviderCard key={provider.name} provider={provider} />
                ))}
            </div>
          )
        }
      </Loading>
    </>
  )
}

function Nothing() {
  const words = useMessages(providersMessages)
  return (
    <Card>
      <EmptyState icon={Plug} title={words.none}>
        {words.noneHint}
      </EmptyState>
    </Card>
  )
}

function OneProvider({ name, all }: { name: string; all: readonly Provider[] }) {
  const words = useMessages(providersMessages)
  const may = useCan('operator')
  const provider = all.find(each => each.name === name)
  return (
    <>
      <PageHeader
        title={name}
        parent={{ href: '/providers', name: words.title }}
        {...(provider !== undefined && { mark: <State of={provider} /> })}
        {...(provider !== undefined &&
          may &&
          provider.state !== 'open' && { actions: <Clear name={name} size="md" /> })}
      />
      {provider === undefined ? (
        <Nothing />
      ) : (
        <Card>
          <ProviderFacts provider={provider} />
        </Card>
      )}
    </>
  )
}

function State({ of: { state } }: { of: Provider }) {
  const words = useMessages(providersMessages)
  return (
    <Badge tone={looks[state].tone} icon={looks[state].icon}>
      {words[state]}
    </Badge>
  )
}

function ProviderCard({ provider }: { provider: Provider }) {
  const may = useCan('operator')
  const { name, state } = provider
  return (
    <Card
      title={
        <Link href={`/providers/${encodeURIComponent(name)}`} class="hover:underline">
          {name}
        </Link>
      }
      hint={<State of={provider} />}
      {...(may && state !== 'open' && { actions: <Clear name={name} /> })}
    >
      <ProviderFacts provider={provider} />
    </Card>
  )
}

function ProviderFacts({ provider }: { provider: Provider }) {
  const words = useMessages(providersMessages)
  const { state, message, kinds, wait_until, waits_since, consecutive_waits, stopped_at, probe_at, at } = provider
  const isOpen = state === 'open'
  return (
    <Facts>
      {state === 'waiting' && (
        <Fact term={words.until}>
          <RelativeTime at={wait_until} />
        </Fact>
      )}
      {!isOpen && (
        <Fact term={words.since}>
          <RelativeTime at={stopped_at ?? waits_since} />
          {consecutive_waits > 1 && <span class="text-muted">, {words.waits(consecutive_waits)}</span>}
        </Fact>
      )}
      {probe_at !== null && (
        <Fact term={words.probe}>
          <RelativeTime at={probe_at} />
        </Fact>
      )}
      {message !== null && <Fact term={words.words}>{message}</Fact>}
      {provider.probe_error !== null && (
        <Fact term={words.probeError}>
          {provider.probe_error} <RelativeTime at={provider.probe_error_at} />
        </Fact>
      )}
      {isOpen && (
        <Fact term={words.lastAnswer}>
          <RelativeTime at={at} />
        </Fact>
      )}
      {kinds.length > 0 && <Fact term={words.kinds}>{kinds.join(', ')}</Fact>}
    </Facts>
  )
}

function Clear({ name, size = 'sm' }: { name: string; size?: 'sm' | 'md' }) {
  const words = useMessages(providersMessages)
  const toast = useToast()
  const clear = useAction('POST /api/v1/providers/{name}/clear')
  const run = () =>
    clear.mutate(
      { params: { name } },
      {
        onSuccess: ({ changed }) => toast.show('good', changed ? words.cleared(name) : words.already(name)),
        onError: error => toast.show('bad', error.message),
      },
    )
  return (
    <Tooltip text={words.clearHint}>
      <Button size={size} icon={RotateCw} busy={clear.isPending} onClick={run} aria-label={`${words.clear}: ${name}`}>
        {words.clear}
      </Button>
    </Tooltip>
  )
}
