import type { CommandResult } from '../../src/cli/operator/testnet/commandTable.ts'
import type { Key } from '../../src/cli/shared/terminal/keys.ts'
import { describeError } from '../../src/lib/errors.ts'

export interface PromptState {
  /** The typed text; undefined if the prompt is closed. */
  input: string | undefined
  /** The result of the last command. */
  answer: readonly string[]
}

export interface PromptModules {
  run: (line: string) => Promise<CommandResult>
  /** Called when the prompt has changed. */
  onChange: () => void
}

/** Longer input is a mistake. */
const MAX_INPUT_LENGTH = 500

/** A command line, with the previous command on the key "up". */
export class CommandPrompt {
  state: PromptState = { input: undefined, answer: [] }
  private readonly modules: PromptModules
  private last = ''

  constructor(modules: PromptModules) {
    this.modules = modules
  }

  /** Returns whether the prompt used the key. ":" opens the prompt, which then uses all keys but the interrupt. */
  onKey(key: Key): boolean {
    const { input } = this.state
    if (key === 'interrupt' || (input === undefined && key !== ':')) return false
    if (input === undefined) this.show('', [])
    else if (key === 'escape') this.show(undefined, [])
    else if (key === 'backspace') this.show(input === '' ? undefined : input.slice(0, -1), [])
    else if (key === 'up') this.show(this.last, [])
    else if (key === 'enter') this.submit(input)
    else if ([...key].length === 1 && input.length < MAX_INPUT_LENGTH) this.show(input + key, [])
    return true
  }

  private submit(line: string): void {
    const isEmpty = line.trim() === ''
    this.show(undefined, isEmpty ? [] : [`${line} …`])
    if (isEmpty) return
    this.last = line
    this.modules.run(line).then(
      ({ did, lookAt }) => this.answer([did, lookAt]),
      (error) => this.answer([describeError(error)]),
    )
  }

  private answer(answer: readonly string[]): void {
    this.show(this.state.input, answer)
  }

  private show(input: string | undefined, answer: readonly string[]): void {
    this.state = { input, answer }
    this.modules.onChange()
  }
}
