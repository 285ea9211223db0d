import { bytesToWord, type Word } from './word.ts'

/** Shorter pushes are decoded each time. */
const MIN_KEPT_BYTES = 5
/** Bytes of code in one page of cached words. */
const PAGE_BYTES = 64

/** A program with cached facts about its code, computed when first needed. */
export class Program {
  readonly code: Uint8Array
  private destinations: Uint8Array | undefined
  /**
   * By page: an array entry for each byte of code would take eight times the code, although most runs use few pushes.
   */
  private readonly pushes: (Word | undefined)[][] = []

  constructor(code: Uint8Array) {
    this.code = code
  }

  /** 1 at each JUMPDEST that is not push data. */
  get jumpDestinations(): Uint8Array {
    this.destinations ??= findJumpDestinations(this.code)
    return this.destinations
  }

  /** The word of a PUSH of `length` bytes. Bytes beyond the end of the code are zero. */
  pushed(pc: number, length: number): Word {
    if (length < MIN_KEPT_BYTES) {
      let value = 0
      for (let at = pc + 1; at <= pc + length; at++) value = value * 256 + (this.code[at] ?? 0)
      return value
    }
    const index = Math.floor(pc / PAGE_BYTES)
    let page = this.pushes[index]
    if (page === undefined) {
      page = new Array<Word | undefined>(PAGE_BYTES).fill(undefined)
      this.pushes[index] = page
    }
    const known = page[pc % PAGE_BYTES]
    if (known !== undefined) return known
    const bytes = new Uint8Array(length)
    bytes.set(this.code.subarray(pc + 1, pc + 1 + length))
    const word = bytesToWord(bytes)
    page[pc % PAGE_BYTES] = word
    return word
  }
}

/** The state's cache shares code objects, so each program is analysed once while it is in use. */
const programs = new WeakMap<Uint8Array, Program>()

export function programOf(code: Uint8Array): Program {
  let program = programs.get(code)
  if (program === undefined) {
    program = new Program(code)
    programs.set(code, program)
  }
  return program
}

function findJumpDestinations(code: Uint8Array): Uint8Array {
  const destinations = new Uint8Array(code.length)
  for (let pc = 0; pc < code.length; pc++) {
    const opcode = code[pc] ?? 0
    // PUSH1 to PUSH32 in one condition: random-looking code defeats branch prediction.
    if ((opcode & 0xe0) === 0x60) pc += opcode - 0x5f
    else if (opcode === 0x5b) destinations[pc] = 1
  }
  return destinations
}
