/** The log-in page: a token is exchanged for a cookie that scripts cannot read. */
import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { logIn } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Input } from '../../components/field.tsx'
import { defineMessages, useMessages } from '../../i18n/messages.ts'
import { Logo } from '../../layout/logo.tsx'

const messages = defineMessages(
  {
    title: 'Entrar',
    token: 'Token de acesso',
    hint: 'Um administrador cria um token com: retoma token create --user VOCÊ --role operator',
    enter: 'Entrar',
    wrong: 'Este token não vale. Confira se foi copiado por inteiro.',
    wait: (seconds: number) => `Tentativas demais. Tente de novo em ${seconds} s.`,
    unreachable: 'O servidor não respondeu. Tente de novo.',
  },
  {
    title: 'Log in',
    token: 'Access token',
    hint: 'An administrator creates a token with: retoma token create --user YOU --role operator',
    enter: 'Log in',
    wrong: 'This token is not valid. Check that it was copied completely.',
    wait: seconds => `Too many attempts. Try again in ${seconds} s.`,
    unreachable: 'The server did not answer. Try again.',
  },
)

export function LogInPage() {
  const words = useMessages(messages)
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState<string>()
  const [busy, setBusy] = useState(false)
  const enter = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    try {
      await logIn(token.trim())
    } catch (error) {
      setBusy(false)
      if (!(error instanceof ApiError) || error.status === 0) setProblem(words.unreachable)
      else if (error.status === 429) setProblem(words.wait(error.retryAfterSeconds ?? 60))
      else setProblem(error.status === 401 ? words.wrong : error.message)
    }
  }
  return (
    <main class="flex min-h-dvh items-center justify-center p-4">
      <form class="flex w-full max-w-sm flex-col gap-5 rounded-lg border bg-surface p-6" onSubmit={enter}>
        <Logo />
        <h1 class="text-lg font-semibold">{words.title}</h1>
        <Input
          label={words.token}
          type="password"
          name="token"
          autocomplete="current-password"
          required
          value={token}
          error={problem}
          hint={words.hint}
          onInput={event => setToken(event.currentTarget.value)}
        />
        <Button look="primary" type="submit" busy={busy}>
          {words.enter}
        </Button>
      </form>
    </main>
  )
}
