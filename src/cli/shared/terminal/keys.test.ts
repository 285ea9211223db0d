import { expect, it } from 'vitest'
import { ManualClock } from '../../../lib/clock.ts'
import { type KeyboardInput, listenToKeys } from './keyboard.ts'
import { decodeKeys } from './keys.ts'

it.each([
  ['jk', ['j', 'k'], ''],
  ['\x1b[A\x1b[B\x1bOA\x1bOB', ['up', 'down', 'up', 'down'], ''],
  ['\x1b[5~\x1b[6~\x1b[H\x1b[4~', ['page-up', 'page-down', 'home', 'end'], ''],
  ['\r\x03q', ['enter', 'interrupt', 'q'], ''],
  ['a\x7f\b', ['a', 'backspace', 'backspace'], ''],
  // Keys without a name here: F5, Ctrl-Up, Ctrl-B, a mouse report.
  ['\x1b[15~\x1b[1;5A\x02\x1b[<0;1;2Mx', ['x'], ''],
  ['\x1b', [], '\x1b'],
  ['a\x1b[1;', ['a'], '\x1b[1;'],
  ['\x1b\x1b[A', ['escape', 'up'], ''],
  ['ä', ['ä'], ''],
])('decodes %j', (input, keys, rest) => {
  expect(decodeKeys(input)).toEqual({ keys, rest })
})

it('distinguishes a key that arrives in two parts from the escape key, and restores the terminal', async () => {
  const clock = new ManualClock()
  let type = (_: string) => {}
  const calls: unknown[] = []
  const input: KeyboardInput = {
    setRawMode: (isRaw) => calls.push(isRaw),
    setEncoding: () => {},
    on: (_, listener) => {
      type = listener
    },
    off: () => calls.push('off'),
    resume: () => {},
    pause: () => calls.push('pause'),
  }
  const keys: string[] = []
  const stop = listenToKeys(input, (key) => keys.push(key), { clock })
  type('\x1b')
  await clock.advance(50)
  type('[A')
  await clock.advance(1_000)
  expect(keys).toEqual(['up'])
  type('\x1b')
  await clock.advance(1_000)
  expect(keys).toEqual(['up', 'escape'])
  stop()
  stop()
  expect(calls).toEqual([true, 'off', false, 'pause'])
})
