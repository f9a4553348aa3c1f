// Estimates the memory of a protobuf message without decoding it: two bytes on the wire can decode to an object of a
// hundred bytes. Pure. Invariant: trusts no length that it did not check.
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

// Generous estimates of V8's memory: an object with its fields, a BigInt or a boxed value, a number in a list.
const objectBytes = 128;
const valueBytes = 32;
const numberBytes = 8;

/** Returns the estimated size and stops counting above `most`. Throws a RangeError on bytes that are no message. */
export function decodedSize(message: DescMessage, bytes: Uint8Array, most: number): number {
  const reader = new BinaryReader(bytes);
  let size = 0;

  function walk(desc: DescMessage, end: number): void {
    size += objectBytes;
    while (reader.pos < end && size <= most) {
      const [number, wireType] = reader.tag();
      const field = fieldsOf(desc).get(number);
      if (wireType !== WireType.LengthDelimited) {
        reader.skip(wireType, number);
        // The decoder keeps an unknown field as an object of its own.
        size += field === undefined ? objectBytes : valueBytes;
        continue;
      }
      const length = reader.uint32();
      const stop = reader.pos + length;
      if (stop > end) throw new RangeError('a field ends after its message');
      if (field?.message !== undefined) walk(field.message, stop);
      else if (field?.fieldKind === 'list' && field.packed) size += packedSize(field.scalar, bytes, reader.pos, stop);
      else size += objectBytes + 2 * length;
      reader.pos = stop;
    }
  }

  walk(message, bytes.length);
  return size;
}

const fields = new WeakMap<DescMessage, ReadonlyMap<number, DescField>>();

function fieldsOf(desc: DescMessage): ReadonlyMap<number, DescField> {
  const known = fields.get(desc);
  if (known !== undefined) return known;
  const made = new Map(desc.fields.map((field) => [field.number, field]));
  fields.set(desc, made);
  return made;
}

/** Counts the values: every varint ends with its only byte without the high bit. */
function packedSize(scalar: ScalarType | undefined, bytes: Uint8Array, start: number, stop: number): number {
  let count = 0;
  for (let at = start; at < stop; at += 1) if ((bytes[at] ?? 0) < 0x80) count += 1;
  return count * (scalar === ScalarType.UINT64 ? valueBytes : numberBytes);
}
