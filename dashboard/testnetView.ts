import { callWithToken } from './actions.ts'
import type { TestnetCommand, TestnetResult } from './answers.ts'
import { byId, el, replaceIfChanged, setText } from './dom.ts'
import { clockTime, messageOf } from './format.ts'
import type { NodeState } from './nodeState.ts'

const MAX_SHOWN = 6
/** Long, because some commands restart programs. */
const COMMAND_MS = 300_000

/** Commands that add and remove faults in the testnet of the serving node. Empty without a testnet. */
export function showTestnet(node: NodeState): void {
  const { testnetCommands } = node
  byId('testnet').hidden = testnetCommands.length === 0
  replaceIfChanged(byId('testnet-form'), String(testnetCommands.length), () => [form(node, testnetCommands)])
}

function form(node: NodeState, commands: readonly TestnetCommand[]): HTMLElement {
  const choice = el(
    'select',
    { 'aria-label': 'Command' },
    ...commands.map(({ name }) => {
      const option = el('option', {}, name)
      option.value = name
      return option
    }),
  )
  const words = el('input', { type: 'text', 'aria-label': 'Arguments of the command' })
  words.autocomplete = 'off'
  words.spellcheck = false
  const button = el('button', { type: 'submit', class: 'button' }, 'Run')
  const explain = (): void => {
    const chosen = commands.find(({ name }) => name === choice.value)
    setText(byId('testnet-about'), `${chosen?.description ?? ''}.`)
    words.placeholder = chosen?.words ?? ''
    words.disabled = words.placeholder === ''
    words.value = ''
  }
  choice.addEventListener('change', explain)
  const made = el('form', { class: 'one-line' }, choice, words, button)
  made.addEventListener('submit', (event) => {
    event.preventDefault()
    button.disabled = true
    const given = [choice.value, ...words.value.trim().split(/\s+/)].filter((word) => word !== '')
    void run(node, given).finally(() => (button.disabled = false))
  })
  explain()
  return made
}

async function run(node: NodeState, words: readonly string[]): Promise<void> {
  try {
    const { did, lookAt } = await callWithToken<TestnetResult>(node, 'devium_testnetCommand', [words], COMMAND_MS)
    note('good', words, `${did} ${lookAt}`)
  } catch (error) {
    note('bad', words, messageOf(error))
  }
}

function note(tone: 'good' | 'bad', words: readonly string[], text: string): void {
  const list = byId('testnet-done')
  const mark = el('span', { class: `event-mark ${tone}` })
  const when = el('time', { class: 'quiet' }, clockTime(Date.now()))
  list.prepend(el('li', {}, mark, when, el('span', {}, el('code', {}, words.join(' ')), ` ${text}`)))
  while (list.children.length > MAX_SHOWN) list.lastElementChild?.remove()
}
