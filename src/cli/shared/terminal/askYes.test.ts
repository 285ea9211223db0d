import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { askYes } from './askYes.ts'

function terminal(isTTY: boolean) {
  const input = Object.assign(new PassThrough(), { isTTY })
  const output = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY })
  return { input, output, shown: () => String(output.read() ?? '') }
}

describe('a question', () => {
  it.each(['y', 'Y', 'yes '])('is answered by %s', async (answer) => {
    const tty = terminal(true)
    tty.input.write(`${answer}\n`)
    await askYes('All peers go.', tty)
    expect(tty.shown()).toContain('All peers go. Continue? [y/N] ')
  })

  it.each(['', 'n', 'yellow'])('is declined by "%s"', async (answer) => {
    const tty = terminal(true)
    tty.input.write(`${answer}\n`)
    await expect(askYes('All peers go.', tty)).rejects.toThrow(errorWith('usage'))
  })

  it('is not shown if nobody can answer', async () => {
    await expect(askYes('All peers go.', terminal(false))).rejects.toThrow(errorWith('usage', 'All peers go.', '--yes'))
  })

  it('is declined when the terminal closes', async () => {
    const tty = terminal(true)
    tty.input.end()
    await expect(askYes('All peers go.', tty)).rejects.toThrow(errorWith('usage'))
  })
})
