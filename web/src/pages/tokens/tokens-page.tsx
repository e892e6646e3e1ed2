/** The tokens: create one, see who has one and when it was last used, revoke. For admins. */
import { Ban, CircleCheck, KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import { type ItemOf, useAction, useApiList } from '../../api/query.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { CreateToken } from './create-token.tsx'
import { tokensMessages } from './messages.ts'

type Token = ItemOf<'GET /api/v1/tokens'>

export default function TokensPage() {
  const words = useMessages(tokensMessages)
  const tokens = useApiList('GET /api/v1/tokens', { query: { limit: 500 } })
  const [creates, setCreates] = useState(false)
  const button = (
    <Button look="primary" icon={Plus} onClick={() => setCreates(true)}>
      {words.create}
    </Button>
  )
  const isEmpty = tokens.data?.items.length === 0
  return (
    <>
      <PageHeader title={words.title} subtitle={words.subtitle} {...(!isEmpty && { actions: button })} />
      <Card flush>
        <Loading of={tokens}>
          {({ items }) =>
            items.length === 0 ? (
              <EmptyState icon={KeyRound} title={words.none} action={button}>
                {words.noneHint}
              </EmptyState>
            ) : (
              <Tokens rows={items} />
            )
          }
        </Loading>
      </Card>
      {creates && <CreateToken isFirst={isEmpty} onClose={() => setCreates(false)} />}
    </>
  )
}

function Tokens({ rows }: { rows: readonly Token[] }) {
  const words = useMessages(tokensMessages)
  const roles = { viewer: words.viewerShort, operator: words.operatorShort, admin: words.adminShort }
  const columns: Column<Token>[] = [
    {
      id: 'user',
      header: words.user,
      cell: ({ user, shown }) => (
        <div class="min-w-0">
          <div class="truncate font-medium">{user}</div>
          <div class="truncate font-mono text-sm text-muted">{shown}</div>
        </div>
      ),
    },
    { id: 'role', header: words.role, width: '8rem', cell: ({ role }) => roles[role] },
    {
      id: 'state',
      header: words.state,
      width: '8rem',
      hide: 'sm',
      cell: ({ revoked_at }) =>
        revoked_at === null ? (
          <Badge tone="good" icon={CircleCheck}>
            {words.live}
          </Badge>
        ) : (
          <Badge icon={Ban}>{words.revoked}</Badge>
        ),
    },
    {
      id: 'used',
      header: words.used,
      width: '8rem',
      hide: 'sm',
      cell: ({ used_at }) => <RelativeTime at={used_at} />,
    },
    {
      id: 'created',
      header: words.created,
      width: '10rem',
      hide: 'nav',
      cell: ({ created_at, created_by }) => (
        <div>
          <RelativeTime at={created_at} />
          {created_by !== null && <div class="truncate text-sm text-muted">{words.by(created_by)}</div>}
        </div>
      ),
    },
    {
      id: 'revoke',
      header: <span class="sr-only">{words.revoke}</span>,
      width: '7rem',
      align: 'right',
      cell: token => (token.revoked_at === null ? <Revoke token={token} /> : null),
    },
  ]
  return <Table label={words.title} columns={columns} rows={rows} keyOf={({ id }) => id} />
}

function Revoke({ token: { id, user } }: { token: Token }) {
  const words = useMessages(tokensMessages)
  const toast = useToast()
  const revoke = useAction('POST /api/v1/tokens/{id}/revoke')
  const [asks, setAsks] = useState(false)
  const run = () =>
    revoke.mutate(
      { params: { id } },
      {
        onSuccess: () => toast.show('good', words.didRevoke(user)),
        onError: error => toast.show('bad', error.message),
        onSettled: () => setAsks(false),
      },
    )
  return (
    <>
      <Button size="sm" look="danger" onClick={() => setAsks(true)} aria-label={`${words.revoke}: ${user}`}>
        {words.revoke}
      </Button>
      {asks && (
        <Confirm
          title={words.revokeTitle(user)}
          action={words.revoke}
          danger
          busy={revoke.isPending}
          onConfirm={run}
          onClose={() => setAsks(false)}
        >
          {words.revokeText}
        </Confirm>
      )}
    </>
  )
}
