/** Creates a token. The server shows a token once, so the dialog stays open until the person has copied it. */
import { useState } from 'react'
import { type Answer, call } from '../../api/client.ts'
import { queryClient } from '../../api/query.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Input, Select } from '../../components/field.tsx'
import { componentMessages } from '../../components/messages.ts'
import { Sentence } from '../../components/sentence.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { tokensMessages } from './messages.ts'

type Role = 'viewer' | 'operator' | 'admin'
const roles: readonly Role[] = ['viewer', 'operator', 'admin']

export function CreateToken({ isFirst, onClose }: { isFirst: boolean; onClose(): void }) {
  const words = useMessages(tokensMessages)
  const common = useMessages(componentMessages)
  const [user, setUser] = useState('')
  const [role, setRole] = useState<Role>(isFirst ? 'admin' : 'operator')
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const [made, setMade] = useState<Answer<'POST /api/v1/tokens'>>()
  // The list is read again when the dialog closes: with the first token the server asks for a log-in, which would hide the token.
  const close = () => {
    onClose()
    if (made !== undefined) void queryClient.invalidateQueries()
  }
  const create = async () => {
    setBusy(true)
    setProblem(undefined)
    try {
      setMade(await call('POST /api/v1/tokens', { body: { user: user.trim(), role } }))
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    } finally {
      setBusy(false)
    }
  }
  if (made?.token)
    return (
      <Dialog
        title={words.newToken(made.user)}
        onClose={close}
        actions={<Button onClick={close}>{common.close}</Button>}
      >
        <div class="flex flex-col gap-3">
          <Sentence kind="warn">{words.copyNow}</Sentence>
          <CodeBlock text={made.token} label={words.token} />
        </div>
      </Dialog>
    )
  return (
    <Dialog
      title={words.create}
      onClose={close}
      actions={
        <>
          <Button onClick={close}>{common.cancel}</Button>
          <Button look="primary" disabled={user.trim() === ''} busy={busy} onClick={() => void create()}>
            {words.create}
          </Button>
        </>
      }
    >
      <div class="flex flex-col gap-4">
        {isFirst && <Sentence kind="info">{words.firstWarning}</Sentence>}
        <Input
          label={words.user}
          value={user}
          hint={words.userHint}
          error={problem}
          autocomplete="off"
          onInput={event => setUser(event.currentTarget.value)}
        />
        <Select
          label={words.role}
          value={role}
          onSelect={value => setRole(value as Role)}
          options={roles.map(value => ({ value, label: words[value] }))}
        />
      </div>
    </Dialog>
  )
}
