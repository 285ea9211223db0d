import { describe, expect, it } from 'vitest'
import { fromHex } from '../../../lib/hex.ts'
import { Program } from './code.ts'
import { bytesToWord } from './word.ts'

/** Every PUSH at every position of a page and beyond, with the words that follow it. */
const code = fromHex(`0x${Array.from({ length: 200 }, (_, at) => (0x11 + (at % 0xe5)).toString(16)).join('')}`)

describe('Program', () => {
  it('pushes the bytes after an opcode, and zeros past the end of the code, each time', () => {
    const program = new Program(code)
    for (let round = 0; round < 2; round++) {
      for (let pc = 0; pc < code.length; pc++) {
        for (const length of [1, 2, 4, 5, 7, 20, 32]) {
          const bytes = new Uint8Array(length)
          bytes.set(code.subarray(pc + 1, pc + 1 + length))
          // A position holds one opcode, and so one length.
          const fresh = new Program(code)
          expect([pc, length, fresh.pushed(pc, length), fresh.pushed(pc, length)]).toEqual([
            pc,
            length,
            bytesToWord(bytes),
            bytesToWord(bytes),
          ])
        }
        expect(program.pushed(pc, 9)).toBe(new Program(code).pushed(pc, 9))
      }
    }
  })

  it('accepts only jump destinations outside push data', () => {
    const found = (hex: string) => [...new Program(fromHex(`0x${hex}`)).jumpDestinations]
    // PUSH1, PUSH32 and the opcodes below and above them, each before a destination.
    expect(found('5b5f5b')).toEqual([1, 0, 1])
    expect(found('605b5b')).toEqual([0, 0, 1])
    expect(found(`7f${'5b'.repeat(32)}5b`)).toEqual([...new Array(33).fill(0), 1])
    expect(found('805b')).toEqual([0, 1])
    expect(found('e05b')).toEqual([0, 1])
    expect(found('615b')).toEqual([0, 0])
  })
})
