export type Yaml = string | number | boolean | null | readonly Yaml[] | { readonly [key: string]: Yaml | undefined }

/** YAML in block style. Strings are JSON strings, which are valid YAML. Undefined members are omitted. */
export function toYaml(value: Yaml, indent = ''): string {
  if (isList(value)) {
    return value.length === 0
      ? '[]'
      : lines(
          value.map((item): [string, Yaml] => ['-', item]),
          indent,
        )
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).flatMap(([key, member]): [string, Yaml][] =>
    member === undefined ? [] : [[`${/^[\w./-]+$/.test(key) ? key : JSON.stringify(key)}:`, member]],
  )
  return members.length === 0 ? '{}' : lines(members, indent)
}

function lines(items: readonly (readonly [start: string, value: Yaml])[], indent: string): string {
  return items
    .map(([start, value]) => {
      const text = toYaml(value, `${indent}  `)
      const isBlock = typeof value === 'object' && value !== null && !/^(\[\]|\{\})$/.test(text)
      return isBlock ? `${indent}${start}\n${text}` : `${indent}${start} ${text}`
    })
    .join('\n')
}

function isList(value: Yaml): value is readonly Yaml[] {
  return Array.isArray(value)
}
