import { describe, expect, it } from 'vitest'
import { DeviumError } from './errors.ts'
import { createLogger, type LogFormat } from './logger.ts'

function capture(format: LogFormat, color = false) {
  const lines: string[] = []
  const logger = createLogger({ level: 'info', format, color, now: () => 0, write: (line) => lines.push(line) })
  return { lines, logger }
}

describe('createLogger', () => {
  it('writes logfmt with quoted values', () => {
    const { lines, logger } = capture('text')
    logger
      .child({ module: 'p2p' })
      .info('Imported new block', { number: 5, gas: 10n ** 20n, note: 'two words', none: undefined })
    expect(lines).toEqual([
      't=1970-01-01T00:00:00.000Z lvl=info msg="Imported new block" module=p2p number=5 gas=100000000000000000000 note="two words"\n',
    ])
  })

  it.each([
    ['logfmt', 'logfmtms'],
    ['json', 'jsonms'],
  ] as const)('%s and %s, which op-node also has, are the same', (...formats) => {
    const [one, other] = formats.map((format) => {
      const { lines, logger } = capture(format)
      logger.info('x', { y: 1 })
      return lines
    })
    expect(one).toHaveLength(1)
    expect(one).toEqual(other)
  })

  it('shows an error with its causes on one line', () => {
    const { lines, logger } = capture('logfmt')
    const err = new DeviumError('rpc', 'request failed', { cause: new Error('connect refused') })
    logger.warn('L1 not reachable', { err })
    expect(lines[0]).toContain('err="request failed: connect refused"')
  })

  it('escapes control characters, so that remote texts cannot forge a line', () => {
    for (const format of ['text', 'terminal', 'json'] as const) {
      const { lines, logger } = capture(format)
      logger.info('peer', { agent: 'x\nlvl=error\u001b[2J' })
      expect(lines[0]?.trimEnd()).toMatch(/^\P{Cc}+$/u)
    }
  })

  it('writes wei and errors inside objects, which JSON alone cannot', () => {
    for (const format of ['text', 'terminal', 'json', 'json-pretty'] as const) {
      const { lines, logger } = capture(format)
      logger.info('fees', { caps: { tip: 7n }, causes: [new Error('too low')] })
      expect(lines.join('')).toMatch(/tip\W+7[\s\S]*too low/)
    }
  })

  it('drops lines below the level, which children share and which can change', () => {
    const { lines, logger } = capture('json')
    const child = logger.child({ a: 1 })
    child.debug('no')
    logger.setLevel('debug')
    child.debug('yes')
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['yes'])
    expect(child.enabled('trace')).toBe(false)
  })
})
