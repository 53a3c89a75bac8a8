/** Words in a row: "a", "a and b", "a, b and c". @param {(string | number)[]} words */
export const listed = (words) =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
