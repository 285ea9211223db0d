import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { askYes } from './askYes.ts'

function terminal(isTTY: boolean) {
  const input = Object.assign(new PassThrough(), { isTTY })
  const output = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY })
  return { input, output, shown: () => String(output.read() ?? '') }
}

describe('a question', () => {
  it.each(['y', 'Y', 'yes '])('is answered by %s', async (answer) => {
    const asked = terminal(true)
    asked.input.write(`${answer}\n`)
    await askYes('All peers go.', asked)
    expect(asked.shown()).toContain('All peers go. Continue? [y/N] ')
  })

  it.each(['', 'n', 'yellow'])('is declined by "%s"', async (answer) => {
    const asked = terminal(true)
    asked.input.write(`${answer}\n`)
    await expect(askYes('All peers go.', asked)).rejects.toThrow('cancelled, nothing was changed')
  })

  it('is not shown if nobody can answer', async () => {
    await expect(askYes('All peers go.', terminal(false))).rejects.toThrow('All peers go. To confirm, add --yes.')
  })

  it('is declined when the terminal closes', async () => {
    const asked = terminal(true)
    asked.input.end()
    await expect(askYes('All peers go.', asked)).rejects.toThrow('cancelled, nothing was changed')
  })
})
