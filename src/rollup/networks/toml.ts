import { DecodeError } from '../../lib/errors.ts'

/** What a TOML document holds, as far as chain configurations use it: no dates, no multi-line texts. */
export type TomlValue = string | number | boolean | TomlValue[] | TomlTable
export interface TomlTable {
  [key: string]: TomlValue
}

const BARE_KEY = /[A-Za-z0-9_-]+/y
const NUMBER = /[+-]?(?:0x[0-9a-fA-F_]+|[0-9][0-9_]*(?:\.[0-9_]+)?(?:[eE][+-]?[0-9]+)?)(?![A-Za-z0-9_:.-])/y
const ESCAPES: Record<string, string> = { b: '\b', t: '\t', n: '\n', f: '\f', r: '\r', '"': '"', '\\': '\\' }
/** Arrays and inline tables within each other. */
const MAX_DEPTH = 20

/** Reads the part of TOML 1.0 that the superchain registry uses. Throws DecodeError that names the line. */
export function parseToml(text: string): TomlTable {
  return new TomlParser(text).parse()
}

class TomlParser {
  private readonly text: string
  private position = 0
  private depth = 0

  constructor(text: string) {
    this.text = text
  }

  parse(): TomlTable {
    const root: TomlTable = newTable()
    let table = root
    for (;;) {
      this.skipBlankLines()
      if (this.position >= this.text.length) return root
      if (this.takes('[[')) {
        table = this.appendTable(root, this.key())
        this.expect(']]')
      } else if (this.takes('[')) {
        table = this.enterTable(root, this.key())
        this.expect(']')
      } else this.assign(table)
      this.endLine()
    }
  }

  private assign(table: TomlTable): void {
    const path = this.key()
    this.expect('=')
    const value = this.value()
    const name = path.pop() ?? this.fail('expected a key')
    const target = this.enterTable(table, path)
    if (Object.hasOwn(target, name)) this.fail(`"${name}" is given twice`)
    target[name] = value
  }

  private enterTable(from: TomlTable, path: readonly string[]): TomlTable {
    let table = from
    for (const name of path) {
      if (!Object.hasOwn(table, name)) table[name] = newTable()
      const found = table[name]
      const next = Array.isArray(found) ? found.at(-1) : found
      if (typeof next !== 'object' || Array.isArray(next)) this.fail(`"${name}" is no table`)
      else table = next
    }
    return table
  }

  private appendTable(root: TomlTable, path: string[]): TomlTable {
    const name = path.pop() ?? this.fail('expected a key')
    const parent = this.enterTable(root, path)
    if (!Object.hasOwn(parent, name)) parent[name] = []
    const list = parent[name]
    if (!Array.isArray(list)) return this.fail(`"${name}" is no array of tables`)
    const table = newTable()
    list.push(table)
    return table
  }

  private key(): string[] {
    const path: string[] = []
    do {
      this.skipSpace()
      const quote = this.text[this.position]
      path.push(
        quote === '"' || quote === "'" ? this.quoted(quote) : (this.match(BARE_KEY) ?? this.fail('expected a key')),
      )
      this.skipSpace()
    } while (this.takes('.'))
    return path
  }

  private value(): TomlValue {
    this.skipSpace()
    const first = this.text[this.position]
    if (first === '"' || first === "'") return this.quoted(first)
    if (this.takes('[')) return this.nested(() => this.array())
    if (this.takes('{')) return this.nested(() => this.inlineTable())
    const word = this.match(BARE_KEY, true)
    if (word === 'true' || word === 'false') {
      this.position += word.length
      return word === 'true'
    }
    const digits = this.match(NUMBER)
    if (digits === undefined) return this.fail('expected a text, a number, true, false, an array or a table')
    const number = Number(digits.replaceAll('_', ''))
    if (Number.isInteger(number) && !Number.isSafeInteger(number)) this.fail(`${digits} is too large`)
    return number
  }

  private nested<T>(read: () => T): T {
    if (++this.depth > MAX_DEPTH) this.fail('too deeply nested')
    const value = read()
    this.depth--
    return value
  }

  private array(): TomlValue[] {
    const values: TomlValue[] = []
    for (;;) {
      this.skipBlankLines()
      if (this.takes(']')) return values
      values.push(this.value())
      this.skipBlankLines()
      if (this.takes(']')) return values
      this.expect(',')
    }
  }

  private inlineTable(): TomlTable {
    const table = newTable()
    this.skipSpace()
    if (this.takes('}')) return table
    do this.assign(table)
    while (this.takesAfterSpace(','))
    this.expect('}')
    return table
  }

  private quoted(quote: string): string {
    this.position++
    let text = ''
    for (;;) {
      const character = this.text[this.position++]
      if (character === undefined || character === '\n') return this.fail('a text has no end')
      if (character === quote) return text
      if (character !== '\\' || quote === "'") text += character
      else text += this.escape()
    }
  }

  private escape(): string {
    const letter = this.text[this.position++] ?? ''
    if (letter === 'u' || letter === 'U') {
      const length = letter === 'u' ? 4 : 8
      const digits = this.text.slice(this.position, this.position + length)
      const point = /^[0-9a-fA-F]+$/.test(digits) && digits.length === length ? Number.parseInt(digits, 16) : Infinity
      if (point > 0x10ffff) this.fail('not a Unicode character')
      this.position += length
      return String.fromCodePoint(point)
    }
    return ESCAPES[letter] ?? this.fail(`unknown escape \\${letter}`)
  }

  private skipSpace(): void {
    while (this.text[this.position] === ' ' || this.text[this.position] === '\t') this.position++
  }

  private skipBlankLines(): void {
    for (;;) {
      this.skipSpace()
      const character = this.text[this.position]
      if (character === '#') this.skipComment()
      else if (character === '\n' || character === '\r') this.position++
      else return
    }
  }

  private skipComment(): void {
    while (this.position < this.text.length && this.text[this.position] !== '\n') this.position++
  }

  private endLine(): void {
    this.skipSpace()
    if (this.text[this.position] === '#') this.skipComment()
    if (this.text[this.position] === '\r') this.position++
    if (this.position < this.text.length && this.text[this.position] !== '\n') this.fail('expected the end of the line')
  }

  private match(pattern: RegExp, peek = false): string | undefined {
    pattern.lastIndex = this.position
    const found = pattern.exec(this.text)?.[0]
    if (found !== undefined && !peek) this.position += found.length
    return found
  }

  private takes(token: string): boolean {
    if (!this.text.startsWith(token, this.position)) return false
    this.position += token.length
    return true
  }

  private takesAfterSpace(token: string): boolean {
    this.skipSpace()
    return this.takes(token)
  }

  private expect(token: string): void {
    if (!this.takesAfterSpace(token)) this.fail(`expected "${token}"`)
  }

  private fail(message: string): never {
    const line = this.text.slice(0, this.position).split('\n').length
    throw new DecodeError(`TOML line ${line}: ${message}`)
  }
}

/** Without a prototype: a key may have any name. */
function newTable(): TomlTable {
  return Object.create(null)
}
